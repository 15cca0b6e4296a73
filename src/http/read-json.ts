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
  return parseJson(await readSmallBody(request, { maxBytes, name: 'The body' }));
}

/** @throws {AppError} `invalid_body` if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError('invalid_body', `The body is not JSON: ${(cause as Error).message}.`, { cause });
  }
}
