import { S3Client } from '@aws-sdk/client-s3';
import { FetchHttpHandler } from '@smithy/fetch-http-handler';
import { within } from '../../src/lib/deadline.ts';
import { translate } from './errors.ts';
import type { S3Address } from './url.ts';

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** Of a pair that ends after some hours. */
  sessionToken?: string;
}

/** Time for one try, until the head of the answer is there. */
const TRY_MS = 2000;
const MAX_TRIES = 3;
/** Time for a call with all its tries, on top of what its body takes. */
const CALL_MS = 4000;
/** The slowest line that a body is sent over, in bytes per ms: 16 Mbit/s. */
const SLOWEST = 2000;

/**
 * A client of one bucket, which sends nothing before it is used. Without credentials it takes those of the default chain of
 * the SDK (shared files, web identity, container, instance) and renews them before they end.
 */
export function createClient(address: S3Address, credentials: S3Credentials | undefined): S3Client {
  return new S3Client({
    region: address.region,
    ...(address.endpoint && { endpoint: address.endpoint }),
    forcePathStyle: address.pathStyle,
    ...(credentials && { credentials }),
    maxAttempts: MAX_TRIES,
    // Checksums beyond the signature are unknown to some servers, and cost time on each byte.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // 1.6 times the reads per second of the default handler under Bun.
    requestHandler: new FetchHttpHandler({ requestInit: () => ({ redirect: 'manual' }) }),
  });
}

/** Limits of one try, for the second argument of `client.send`. */
export interface Limits {
  abortSignal: AbortSignal;
  requestTimeout: number;
}

/**
 * Runs a call whose request body has this many bytes, within 4 s and 1 s for each 2 MB.
 * @throws {AppError} `unavailable` or `storage_full` if the server fails, refuses or is late.
 */
export async function limited<T>(bodyBytes: number, call: (limits: Limits) => Promise<T>): Promise<T> {
  const bodyMs = bodyBytes / SLOWEST;
  const ending = new AbortController();
  const called = call({ abortSignal: ending.signal, requestTimeout: TRY_MS + bodyMs });
  try {
    return await within(CALL_MS + bodyMs, called, 'the S3 server is late');
  } catch (error) {
    ending.abort(error);
    throw translate(error);
  }
}
