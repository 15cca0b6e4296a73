import { AppError, message } from '../../errors.ts';
import { MAX_FORM_BYTES, readForm, readSmallBody } from '../../http/read-body.ts';
import { readableBytes } from '../../lib/format.ts';

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
