import { AppError } from '../errors.ts';
import { readSmallBody } from './read-body.ts';

/** Enough for a percent-encoded password of 1024 bytes and a name. */
export const MAX_FORM_BYTES = 8192;

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
