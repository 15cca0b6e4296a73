import { AppError } from '../errors.ts';
import { readSmallBody } from './read-body.ts';

/** No JSON body of this interface comes near it. */
export const MAX_JSON_BYTES = 64 * 1024;

/**
 * Reads a JSON body with a limit in bytes.
 * @throws {AppError} `invalid_body` for another media type, what is not JSON, or comes too slowly; `too_large` past the limit.
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
