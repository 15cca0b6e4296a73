/** A body that arrives in pieces of that many bytes. */
export function inPieces(body: Buffer, bytes: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= body.length) return controller.close();
      controller.enqueue(new Uint8Array(body.subarray(at, at + bytes)));
      at += bytes;
    },
  });
}

/** A POST of a body while it arrives. */
export function posted(body: ReadableStream<Uint8Array>, headers: Record<string, string>): Request {
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', headers, body, duplex: 'half' };
  return new Request('http://localhost/api/upload', init);
}
