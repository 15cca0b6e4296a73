import { AppError, inEnglish } from '../errors.ts';
import { MAX_JSON_LENGTH, parseForeignJson } from '../lib/foreign-json.ts';
import { readSmallBody } from './read-body.ts';

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
