import { AppError } from '../../errors.ts';
import { readSmallBody } from '../../http/read-body.ts';

/** A password of 1024 bytes, each percent-encoded, and a name fit into it. */
const MAX_FORM_BYTES = 8192;

/**
 * Reads the text fields of a small form of either type; of several with one name the last.
 * @throws {AppError} `invalid_body` for another type and for a form that is broken, `too_large`.
 */
export async function readFields(request: Request): Promise<Partial<Record<string, string>>> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^multipart\/form-data\s*;/i.test(type)) return Object.fromEntries(await readForm(request));
  const text = await readSmallBody(request, { maxBytes: MAX_FORM_BYTES, name: 'The form' });
  try {
    const form = await new Response(text, { headers: { 'content-type': type } }).formData();
    return Object.fromEntries(
      [...form].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
    );
  } catch (cause) {
    throw new AppError('invalid_body', 'The multipart form is broken.', { cause });
  }
}

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
