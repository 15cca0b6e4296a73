import { AppError, inEnglish, message } from '../errors.ts';
import { createAbortable } from '../lib/abortable.ts';
import { MAX_JSON_LENGTH, parseForeignJson } from '../lib/foreign-json.ts';

/** Small bodies fit into a few packets. A slow sender only holds the connection. */
const TIMEOUT_MS = 15_000;

interface SmallBody {
  maxBytes: number;
  /** What the error message calls the body: `The form`. */
  name: string;
  /** Time limit from now to the last byte. Default: 15 s. */
  timeoutMs?: number;
}

interface BodyLimits {
  maxBytes: number;
  tooLarge: () => AppError;
  tooSlow: () => AppError;
  /** Maximum pause between two chunks. Default: only the time of the whole body counts. */
  idleMs?: number;
  totalMs: number;
  /** Aborts reading with its reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Yields the chunks of a body as they arrive. Ends the stream as soon as a limit is exceeded.
 * @throws {AppError} `tooLarge` (by Content-Length before the first chunk, or while counting), `tooSlow`, or `invalid_body`
 * if it ends early.
 */
export async function* readBody(request: Request, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  const { maxBytes, tooLarge } = limits;
  const { headers } = request;
  const declared = headers.has('content-encoding') ? 0 : Number(headers.get('content-length') ?? 0);
  if (declared > maxBytes) throw tooLarge();
  const reader = openBody(request);
  if (!reader) return;
  const guard = createGuard(request.signal, limits);
  let received = 0;
  let done = false;
  try {
    while (true) {
      const piece = await guard.race(reader.read());
      if (piece.done) break;
      received += piece.value.byteLength;
      if (received > maxBytes) throw tooLarge();
      yield piece.value;
    }
    done = true;
  } finally {
    guard.release();
    if (!done) void reader.cancel().catch(() => {});
  }
  if (received < declared) throw cutShort();
}

/** Returns the error for an interrupted body, whatever the runtime reports about its connection. */
function cutShort(cause?: unknown): AppError {
  return new AppError('invalid_body', 'The request body ended before it was complete.', { cause });
}

/** Returns the reader of a body, if there is one. Throws if the connection broke before reading began. */
function openBody({ body }: Request) {
  try {
    return body?.getReader();
  } catch (cause) {
    throw cutShort(cause);
  }
}

/** Rejects a read that takes too long, or whose client has disconnected. */
function createGuard(client: AbortSignal, { tooSlow, idleMs, totalMs, signal }: BodyLimits) {
  const { wait, stop } = createAbortable();
  const late = () => stop(tooSlow());
  const gone = () => stop(cutShort());
  const told = () => stop(signal?.reason);
  const total = setTimeout(late, totalMs);
  let idle: ReturnType<typeof setTimeout> | undefined;
  client.addEventListener('abort', gone, { once: true });
  signal?.addEventListener('abort', told, { once: true });
  if (client.aborted) gone();
  if (signal?.aborted) told();
  return {
    async race<T>(read: Promise<T>): Promise<T> {
      if (idleMs !== undefined) idle = setTimeout(late, idleMs);
      try {
        return await wait(read);
      } catch (error) {
        // The runtimes report broken connections in different words.
        const asked = signal?.aborted && !client.aborted;
        throw error instanceof AppError || asked ? error : cutShort(error);
      } finally {
        clearTimeout(idle);
      }
    },
    release() {
      clearTimeout(total);
      client.removeEventListener('abort', gone);
      signal?.removeEventListener('abort', told);
    },
  };
}

/**
 * Reads a small body as text.
 * @throws {AppError} `too_large`, or `invalid_body` if it is interrupted or does not arrive in time.
 */
export async function readSmallBody(
  request: Request,
  { maxBytes, name, timeoutMs = TIMEOUT_MS }: SmallBody,
): Promise<string> {
  const tooLarge = () =>
    new AppError('too_large', message('{name} must be at most {most} bytes.', { name, most: maxBytes }));
  const tooSlow = () => new AppError('invalid_body', message('{name} is arriving too slowly.', { name }));
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of readBody(request, { maxBytes, tooLarge, tooSlow, totalMs: timeoutMs }))
    text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}

/** Enough for 200 IDs of pictures and percent-encoded texts of 2,000 characters. */
export const MAX_FORM_BYTES = 65_536;

/**
 * Reads the fields of a page's form (`application/x-www-form-urlencoded`).
 * @throws {AppError} `invalid_body` for another type, `too_large`.
 */
export async function readForm(request: Request): Promise<URLSearchParams> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw new AppError('invalid_body', 'The body must be a form (application/x-www-form-urlencoded).');
  }
  return new URLSearchParams(await readSmallBody(request, { maxBytes: MAX_FORM_BYTES, name: 'The form' }));
}

/** A character takes at least one byte. */
export const MAX_JSON_BYTES = MAX_JSON_LENGTH;
/** Far more than any body needs. Hundreds of thousands of different ones take a second. */
const MAX_JSON_NAMES = 10_000;

/**
 * Reads a JSON body with a limit in bytes and in depth.
 * @throws {AppError} `invalid_body` for another media type, invalid or deeply nested JSON, or a body that arrives too
 * slowly; `too_large` above the limit.
 */
export async function readJson(request: Request, maxBytes = MAX_JSON_BYTES): Promise<unknown> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new AppError(
      'invalid_body',
      inEnglish('The body must be JSON with the header Content-Type: application/json.'),
    );
  }
  return parseJson(await readSmallBody(request, { maxBytes, name: 'The body' }), maxBytes);
}

/** @throws {AppError} `invalid_body` if the text is not JSON, too long or deep, or has too many names. */
export function parseJson(text: string, maxLength = MAX_JSON_BYTES): unknown {
  try {
    return parseForeignJson(text, { maxLength, maxNames: MAX_JSON_NAMES });
  } catch (cause) {
    throw new AppError(
      'invalid_body',
      inEnglish(`The body cannot be read as JSON: ${(cause as Error).message}.`),
      { cause },
    );
  }
}
