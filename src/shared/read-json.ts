import { AppError } from '../errors.ts';

/** No JSON body of this interface comes near it. */
export const MAX_JSON_BYTES = 64 * 1024;

/**
 * Reads a JSON body with a limit in bytes.
 * @throws {AppError} `invalid_body` for another media type or what is not JSON, `too_large` past the limit.
 */
export async function readJson(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new AppError(
      'invalid_body',
      'The body must be JSON with the header Content-Type: application/json.',
    );
  }
  const text = await readText(request, MAX_JSON_BYTES);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('invalid_body', `The body is not JSON: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  const tooLarge = new AppError('too_large', `The body must be at most ${maxBytes} bytes.`);
  if (Number(request.headers.get('content-length')) > maxBytes) throw tooLarge;
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
