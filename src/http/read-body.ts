import { AppError } from '../errors.ts';
import { createAbortable } from '../lib/abortable.ts';

/** Small bodies fit into a few packets; a slow sender only holds the connection. */
const TIMEOUT_MS = 15_000;

export interface SmallBody {
  maxBytes: number;
  /** What is too large: `The form`. */
  name: string;
  /** From now to the last byte; 15 s by default. */
  timeoutMs?: number;
}

/** What a body is called that broke off, whatever the runtime says about its connection. */
export function cutShort(cause?: unknown): AppError {
  return new AppError('invalid_body', 'The request body ended before it was complete.', { cause });
}

/**
 * The reader of a body, if there is one.
 * @throws {AppError} `invalid_body` if the connection broke before anyone began to read.
 */
export function openBody({ body }: Request) {
  try {
    return body?.getReader();
  } catch (cause) {
    throw cutShort(cause);
  }
}

/**
 * Reads a small body as text.
 * @throws {AppError} `too_large`, or `invalid_body` for one that breaks off or does not arrive in time.
 */
export async function readSmallBody(request: Request, limits: SmallBody): Promise<string> {
  const { maxBytes, name, timeoutMs = TIMEOUT_MS } = limits;
  const tooLarge = new AppError('too_large', `${name} must be at most ${maxBytes} bytes.`);
  if (Number(request.headers.get('content-length')) > maxBytes) throw tooLarge;
  const reader = openBody(request);
  if (!reader) return '';
  const { wait, stop } = createAbortable();
  const timer = setTimeout(
    () => stop(new AppError('invalid_body', `${name} is arriving too slowly.`)),
    timeoutMs,
  );
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  let done = false;
  try {
    for (;;) {
      const piece = await wait(reader.read());
      if (piece.done) break;
      bytes += piece.value.byteLength;
      if (bytes > maxBytes) throw tooLarge;
      text += decoder.decode(piece.value, { stream: true });
    }
    done = true;
    return text + decoder.decode();
  } catch (error) {
    throw error instanceof AppError ? error : cutShort(error);
  } finally {
    clearTimeout(timer);
    if (!done) void reader.cancel().catch(() => {});
  }
}
