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

/** Returns the error for an interrupted body, whatever the runtime reports about its connection. */
export function cutShort(cause?: unknown): AppError {
  return new AppError('invalid_body', 'The request body ended before it was complete.', { cause });
}

/**
 * Returns the reader of a body, if there is one.
 * @throws {AppError} `invalid_body` if the connection broke before reading began.
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
 * @throws {AppError} `too_large`, or `invalid_body` if it is interrupted or does not arrive in time.
 */
export async function readSmallBody(request: Request, limits: SmallBody): Promise<string> {
  const { maxBytes, name, timeoutMs = TIMEOUT_MS } = limits;
  const tooLarge = new AppError(
    'too_large',
    message('{name} must be at most {most} bytes.', { name, most: maxBytes }),
  );
  if (Number(request.headers.get('content-length')) > maxBytes) throw tooLarge;
  const reader = openBody(request);
  if (!reader) return '';
  const { wait, stop } = createAbortable();
  const timer = setTimeout(
    () => stop(new AppError('invalid_body', message('{name} is arriving too slowly.', { name }))),
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

/** @throws {AppError} `invalid_body` if the text is not JSON, or too long or deep. */
export function parseJson(text: string, maxLength?: number): unknown {
  try {
    return parseForeignJson(text, maxLength === undefined ? {} : { maxLength });
  } catch (cause) {
    throw new AppError(
      'invalid_body',
      inEnglish(`The body cannot be read as JSON: ${(cause as Error).message}.`),
      { cause },
    );
  }
}
