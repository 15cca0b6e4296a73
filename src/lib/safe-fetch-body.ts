import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { readableBytes } from './readable-bytes.ts';
import { type Deadline, explain, SafeFetchError } from './safe-fetch-errors.ts';

export interface SafeResponse {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** The final URL after redirects. */
  url: string;
  /**
   * The decompressed body. Throws `SafeFetchError` if it is interrupted, too large or too late, and the reason of the
   * caller's signal. Must be iterated or discarded, otherwise it holds its connection until the deadline.
   */
  body: AsyncIterable<Uint8Array>;
  /** Closes the connection without reading further. */
  discard(): void;
}

/**
 * Returns the answer as the caller sees it: decompressed, limited in size, and under the deadline to its last byte.
 */
export function answer(
  message: IncomingMessage,
  url: URL,
  options: { maxBytes: number },
  deadline: Deadline,
): SafeResponse {
  const close = () => {
    deadline.clear();
    message.destroy();
  };
  // Without a listener, a connection that breaks while nobody reads would end the process.
  message.on('error', () => {});
  deadline.signal.addEventListener('abort', () => message.destroy(new Error('aborted')), { once: true });
  const headers = Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
  return {
    status: message.statusCode ?? 0,
    headers,
    url: url.href,
    discard: close,
    body: {
      async *[Symbol.asyncIterator]() {
        try {
          yield* capped(inflated(message, options.maxBytes), options.maxBytes);
        } catch (error) {
          throw explain(error, deadline, 'broken', 'broke off');
        } finally {
          close();
        }
      },
    },
  };
}

/**
 * Decompresses gzip. Compressed bytes are counted as well, because gzip can continue forever without producing a
 * byte.
 */
function inflated(message: IncomingMessage, maxBytes: number): Readable {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return message;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw new SafeFetchError('broken', `sent an encoding that was not asked for (${encoding.slice(0, 20)})`);
  }
  const gunzip = createGunzip();
  let received = 0;
  message.on('data', (chunk: Uint8Array) => {
    received += chunk.length;
    if (received > maxBytes) gunzip.destroy(tooLarge(maxBytes));
  });
  pipeline(message, gunzip, () => {});
  return gunzip;
}

async function* capped(body: Readable, maxBytes: number): AsyncGenerator<Uint8Array> {
  let received = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    const left = maxBytes - received;
    received += chunk.length;
    if (received > maxBytes) {
      if (left > 0) yield chunk.subarray(0, left);
      throw tooLarge(maxBytes);
    }
    yield chunk;
  }
}

function tooLarge(maxBytes: number): SafeFetchError {
  return new SafeFetchError('too_large', `sent more than ${readableBytes(maxBytes)}`);
}
