import { S3ServiceException } from '@aws-sdk/client-s3';
import { AppError } from '../../src/errors.ts';

const RETRY_AFTER_MS = 2000;

/** What a server answers when it has no room. */
const FULL = /^(QuotaExceeded|XMinioStorageFull|InsufficientCapacity|XMinioAdminBucketQuotaExceeded)$/;

/** True where the server says that there is no such object. A missing bucket is a fault of the set-up. */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof S3ServiceException) || error.name === 'NoSuchBucket') return false;
  return error.name === 'NoSuchKey' || error.name === 'NotFound' || error.$metadata.httpStatusCode === 404;
}

/** `storage_full` or `unavailable` in words for the caller; the server's own words stay in the log. */
export function translate(error: unknown): unknown {
  if (error instanceof AppError || isLocal(error)) return error;
  if (error instanceof S3ServiceException) {
    const full = FULL.test(error.name) || error.$metadata.httpStatusCode === 507;
    if (full) return new AppError('storage_full', 'The storage of the images is full.', { cause: error });
  }
  const message = 'The storage of the images does not answer. Please try again in a few seconds.';
  return new AppError('unavailable', message, { cause: error, retryAfterMs: RETRY_AFTER_MS });
}

/** A fault of the file that is to be published. */
function isLocal(error: unknown): boolean {
  return error instanceof Error && (error as { syscall?: unknown }).syscall === 'open';
}
