import { AppError } from '../errors.ts';
import { readSmallBody } from './read-body.ts';

/** Far more than any JSON body of this API needs. */
export const MAX_JSON_BYTES = 64 * 1024;

/**
 * Reads a JSON body with a limit in bytes.
 * @throws {AppError} `invalid_body` for another media type, invalid JSON, or a body that arrives too slowly;
 * `too_large` above the limit.
 */
export async function readJson(request: Request, maxBytes = MAX_JSON_BYTES): Promise<unknown> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new AppError(
      'invalid_body',
      'The body must be JSON with the header Content-Type: application/json.',
    );
  }
  const text = await readSmallBody(request, { maxBytes, name: 'The body' });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('invalid_body', `The body is not JSON: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}
