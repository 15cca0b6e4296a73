import { AppError, message } from '../../errors.ts';
import { cutShort, MAX_FORM_BYTES, openBody, readForm, readSmallBody } from '../../http/read-body.ts';
import { createAbortable } from '../../lib/abortable.ts';
import { readableBytes } from '../../lib/format.ts';

interface BodyLimits {
  /** Maximum size of the picture. */
  maxBytes: number;
  /** Maximum that a form adds to it. */
  spareBytes: number;
  /** Maximum pause between two chunks. */
  idleMs: number;
  /** Maximum time for the whole body. */
  totalMs: number;
  /** Aborts reading with its reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Yields the chunks of a request body as they arrive. Ends the stream as soon as a limit is exceeded.
 * @throws {AppError} `too_large` (by Content-Length before the first chunk, or while counting), `invalid_body` if it
 * stops arriving or ends early.
 */
export async function* readBody(request: Request, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  const most = limits.maxBytes + limits.spareBytes;
  const declared = declaredLength(request);
  if (declared > most) throw tooLarge(limits.maxBytes);
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
      if (received > most) throw tooLarge(limits.maxBytes);
      yield piece.value;
    }
    done = true;
  } finally {
    guard.release();
    if (!done) void reader.cancel().catch(() => {});
  }
  if (received < declared) throw cutShort();
}

function declaredLength({ headers }: Request): number {
  return headers.has('content-encoding') ? 0 : Number(headers.get('content-length') ?? 0);
}

/** Rejects a read that takes too long, or whose client has disconnected. */
function createGuard(client: AbortSignal, { idleMs, totalMs, signal }: BodyLimits) {
  const { wait, stop } = createAbortable();
  const tooSlow = () => stop(new AppError('invalid_body', 'The request body is arriving too slowly.'));
  const gone = () => stop(cutShort());
  const told = () => stop(signal?.reason);
  const total = setTimeout(tooSlow, totalMs);
  let idle: ReturnType<typeof setTimeout> | undefined;
  client.addEventListener('abort', gone, { once: true });
  signal?.addEventListener('abort', told, { once: true });
  if (client.aborted) gone();
  if (signal?.aborted) told();
  return {
    async race<T>(read: Promise<T>): Promise<T> {
      idle = setTimeout(tooSlow, idleMs);
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

/** The error for an upload above the limit, in bytes. */
export function tooLarge(maxBytes: number): AppError {
  return new AppError(
    'too_large',
    message('The upload is larger than the limit of {limit}.', { limit: readableBytes(maxBytes) }),
  );
}

/**
 * Reads the text fields of a small form of either type. Of repeated fields, the last one counts.
 * @throws {AppError} `invalid_body` for another type or a malformed form, `too_large`.
 */
export async function readFields(request: Request): Promise<Record<string, string>> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^multipart\/form-data\s*;/i.test(type)) return Object.fromEntries(await readForm(request));
  const text = await readSmallBody(request, { maxBytes: MAX_FORM_BYTES, name: 'The form' });
  try {
    const form = await new Response(text, { headers: { 'content-type': type } }).formData();
    return Object.fromEntries(
      [...form].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
    );
  } catch (cause) {
    throw new AppError('invalid_body', 'The multipart form is malformed.', { cause });
  }
}
