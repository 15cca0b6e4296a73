import { AppError } from '../errors.ts';

/** Small bodies fit into a few packets; who sends them for longer only holds the connection. */
const TIMEOUT_MS = 15_000;

export interface SmallBody {
  maxBytes: number;
  /** What is too large: `The form`. */
  name: string;
  /** From now to the last byte; 15 s by default. */
  timeoutMs?: number;
}

/**
 * Reads a small body as text.
 * @throws {AppError} `too_large`, or `invalid_body` for one that does not arrive in time.
 */
export async function readSmallBody(request: Request, limits: SmallBody): Promise<string> {
  const { maxBytes, name, timeoutMs = TIMEOUT_MS } = limits;
  const tooLarge = new AppError('too_large', `${name} must be at most ${maxBytes} bytes.`);
  if (Number(request.headers.get('content-length')) > maxBytes) throw tooLarge;
  const reader = request.body?.getReader();
  if (!reader) return '';
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new AppError('invalid_body', `${name} arrives too slowly.`)),
    timeoutMs,
  );
  late.catch(() => {});
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  let done = false;
  try {
    for (;;) {
      const piece = await Promise.race([reader.read(), late]);
      if (piece.done) break;
      bytes += piece.value.byteLength;
      if (bytes > maxBytes) throw tooLarge;
      text += decoder.decode(piece.value, { stream: true });
    }
    done = true;
    return text + decoder.decode();
  } finally {
    clearTimeout(timer);
    if (!done) void reader.cancel().catch(() => {});
  }
}
