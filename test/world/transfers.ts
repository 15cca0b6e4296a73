import { stir } from './time.ts';

/** Reads the body, or at least that share of it. */
export async function read(response: Response, left: AbortSignal, mostShare = 1): Promise<Uint8Array> {
  const reader = response.body?.getReader();
  if (!reader) return new Uint8Array();
  const cancel = () => void reader.cancel('the client left');
  if (left.aborted) cancel();
  left.addEventListener('abort', cancel);
  const most = mostShare * Number(response.headers.get('content-length') ?? Number.POSITIVE_INFINITY);
  let body = new Uint8Array();
  for (;;) {
    const { done, value } = await reader.read();
    stir();
    if (done) return body;
    body = Buffer.concat([body, value]);
    if (mostShare < 1 && body.byteLength >= most) {
      cancel();
      return body;
    }
  }
}

/** Writes a form of files. */
export function formOf(names: readonly string[], contents: readonly string[]) {
  const parts = names.map(
    (one, index) =>
      `--edge\r\nContent-Disposition: form-data; name="image"; filename="${one}"\r\nContent-Type: image/webp\r\n\r\n${contents[index]}\r\n`,
  );
  return { type: 'multipart/form-data; boundary=edge', body: `${parts.join('')}--edge--\r\n` };
}
