import { S3Client } from '@aws-sdk/client-s3';
import { FetchHttpHandler } from '@smithy/fetch-http-handler';
import { within } from '../../src/lib/deadline.ts';
import type { Credentials } from '../adapter.ts';
import { mayBeSkewed, translate } from './errors.ts';
import type { S3Address } from './url.ts';

/** Time limit of one attempt, until the head of the answer has arrived. */
const TRY_MS = 2000;
const MAX_TRIES = 3;
/** Time limit of a call with all attempts, in addition to the time for its body. */
const CALL_MS = 4000;
/** Minimum speed for sending a body, in bytes per ms: 16 Mbit/s. */
const SLOWEST = 2000;

/**
 * Creates a client for one bucket, which sends nothing before it is used. Without credentials it uses the SDK's
 * default chain (shared files, web identity, container, instance) and renews them before they expire.
 */
export function createClient(address: S3Address, credentials: Credentials | undefined): S3Client {
  return new S3Client({
    region: address.region,
    ...(address.endpoint && { endpoint: address.endpoint }),
    forcePathStyle: address.pathStyle,
    ...(credentials && { credentials }),
    maxAttempts: MAX_TRIES,
    // Some servers do not support checksums beyond the signature, and they cost time for each byte.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // 1.6 times the reads per second of the default handler under Bun.
    requestHandler: new FetchHttpHandler({ requestInit: () => ({ redirect: 'manual' }) }),
  });
}

/** Limits of one attempt, for the second argument of `client.send`. */
export interface Limits {
  abortSignal: AbortSignal;
  requestTimeout: number;
}

/**
 * Runs a call whose request body has this many bytes, within 4 s, 1 s for each 2 MB, and `moreMs`.
 * @throws {AppError} `unavailable` or `storage_full` if the server fails, refuses or is late.
 */
export async function limited<T>(
  bodyBytes: number,
  call: (limits: Limits) => Promise<T>,
  moreMs = 0,
): Promise<T> {
  const bodyMs = bodyBytes / SLOWEST + moreMs;
  const ending = new AbortController();
  const limits = { abortSignal: ending.signal, requestTimeout: TRY_MS + bodyMs };
  // The SDK learns the server's time from this answer, but does not repeat the call if our clock is right again. HEAD names no fault.
  const called = call(limits).catch((error) => {
    if (!mayBeSkewed(error)) throw error;
    return call(limits);
  });
  try {
    return await within(CALL_MS + bodyMs, called, 'the S3 server did not respond in time');
  } catch (error) {
    ending.abort(error);
    throw translate(error);
  }
}
