import { S3ServiceException } from '@aws-sdk/client-s3';
import { AppError } from '../../src/errors.ts';

const RETRY_AFTER_MS = 2000;

/** What a server answers when it has no room. */
const FULL = /^(QuotaExceeded|XMinioStorageFull|InsufficientCapacity|XMinioAdminBucketQuotaExceeded)$/;

/**
 * True if the server says that there is no such object. A missing bucket is a fault of the set-up. So is 403, although S3
 * answers it for absent objects to those who may not list the bucket: whoever loses a right must not lose images.
 */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof S3ServiceException) || error.name === 'NoSuchBucket') return false;
  return error.name === 'NoSuchKey' || error.name === 'NotFound' || error.$metadata.httpStatusCode === 404;
}

/** The status that the server has answered; 0 if it has not. */
export function statusOf(error: unknown): number {
  return error instanceof S3ServiceException ? (error.$metadata.httpStatusCode ?? 0) : 0;
}

/** `storage_full` or `unavailable` in words for the caller; the server's own words stay in the log. */
export function translate(error: unknown): unknown {
  if (error instanceof AppError || isLocal(error)) return error;
  if (error instanceof S3ServiceException) {
    const full = FULL.test(error.name) || error.$metadata.httpStatusCode === 507;
    if (full) return new AppError('storage_full', 'The image storage is full.', { cause: error });
  }
  const message = 'The image storage does not respond. Try again in a few seconds.';
  return new AppError('unavailable', message, { cause: inWords(error), retryAfterMs: RETRY_AFTER_MS });
}

/** What the operator can put right, in the words of the operator. */
function inWords(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.name === 'CredentialsProviderError' || cause.name === 'TokenProviderError') {
    const found = 'there are no credentials for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set';
    return new Error(`${found}, and no profile, container or instance gives any: ${cause.message}`, {
      cause,
    });
  }
  // HEAD has no body that would name the fault.
  const refused = cause instanceof S3ServiceException && cause.$metadata.httpStatusCode === 403;
  if (!refused || !/^(AccessDenied|Forbidden|403|Unknown\w*)$/.test(cause.name)) return cause;
  const rights = 's3:GetObject, s3:PutObject, s3:DeleteObject or s3:ListBucket';
  const absent = 'without s3:ListBucket, S3 answers the same for a file that is absent';
  return new Error(`the S3 server answers 403 (${cause.name}): ${rights} may be missing; ${absent}`, {
    cause,
  });
}

/** A fault of the file that is to be published. */
function isLocal(error: unknown): boolean {
  return error instanceof Error && (error as { syscall?: unknown }).syscall === 'open';
}
