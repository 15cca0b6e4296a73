/**
 * Yields the same bytes, with a first chunk of at least that many so that it can be examined. It is shorter only if
 * there are fewer bytes, and missing if there are none.
 */
export async function* withLongHead(
  pieces: AsyncIterable<Uint8Array>,
  headBytes: number,
): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | null = new Uint8Array();
  for await (const piece of pieces) {
    if (head === null) yield piece;
    else {
      head = Buffer.concat([head, piece]);
      if (head.length < headBytes) continue;
      yield head;
      head = null;
    }
  }
  if (head !== null && head.length > 0) yield head;
}
