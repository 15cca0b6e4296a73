import { S3ServiceException } from '@aws-sdk/client-s3';
import { AppError, message } from '../../src/errors.ts';

const RETRY_AFTER_MS = 2000;

/** Codes of a server that has no space. */
const FULL = /^(QuotaExceeded|XMinioStorageFull|InsufficientCapacity|XMinioAdminBucketQuotaExceeded)$/;

/**
 * Reports whether the server says that the object does not exist. A missing bucket is a fault of the setup. So is
 * 403, although S3 sends it for missing objects to clients that may not list the bucket: losing a right must not look
 * like losing images. A page is the answer of something in between, which knows no objects.
 */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof S3ServiceException) || error.name === 'NoSuchBucket') return false;
  const isPage = /^text\/html\b/i.test(error.$response?.headers['content-type'] ?? '');
  return error.name === 'NoSuchKey' || (!isPage && error.$metadata.httpStatusCode === 404);
}

/** Reports whether a right is missing, rather than that key, secret or clock is wrong. HEAD has no body that would name the fault. */
export function isRefused(error: unknown): boolean {
  return statusOf(error) === 403 && /^(AccessDenied|Forbidden|403|Unknown\w*)$/.test((error as Error).name);
}

/** Reports whether the clock may be wrong: the server says so, or names no fault. */
export function mayBeSkewed(error: unknown): boolean {
  return (
    statusOf(error) === 403 && /^(RequestTimeTooSkewed|Forbidden|403|Unknown\w*)$/.test((error as Error).name)
  );
}

/** Returns the status of the server's answer; 0 if there was none. */
export function statusOf(error: unknown): number {
  return error instanceof S3ServiceException ? (error.$metadata.httpStatusCode ?? 0) : 0;
}

/** Returns `storage_full` or `unavailable` with a message for the caller. The server's own message is only logged. */
export function translate(error: unknown): unknown {
  if (error instanceof AppError || isLocal(error)) return error;
  if (statusOf(error) === 507 || (error instanceof S3ServiceException && FULL.test(error.name)))
    return new AppError('storage_full', 'The image storage is full.', { cause: error });
  const fault = `${answerOf(error)}. Try again in a few seconds`;
  const options = { cause: inWords(error), retryAfterMs: RETRY_AFTER_MS };
  return new AppError('unavailable', message('The image storage {fault}.', { fault }), options);
}

/** Names the answer by its status and, if it is that of an S3 server, its code. */
function answerOf(error: unknown): string {
  const status = statusOf(error);
  if (status === 0) return 'does not respond';
  const { name } = error as S3ServiceException;
  return `answers ${status}${/^[A-Z]\w{0,63}$/.test(name) ? ` ${name}` : ''}`;
}

/** Explains what the operator can fix. */
function inWords(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  if (cause.name === 'CredentialsProviderError' || cause.name === 'TokenProviderError') {
    const found = 'there are no credentials for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set';
    return new Error(`${found}, and no profile, container or instance gives any: ${cause.message}`, {
      cause,
    });
  }
  if (!isRefused(cause)) return cause;
  const rights = 's3:GetObject, s3:PutObject, s3:DeleteObject or s3:ListBucket';
  const absent = 'without s3:ListBucket, S3 gives the same answer for a missing file';
  return new Error(`the S3 server answers 403 (${cause.name}): ${rights} may be missing; ${absent}`, {
    cause,
  });
}

/** Reports whether the fault is in the file to be published. */
function isLocal(error: unknown): boolean {
  return error instanceof Error && (error as { syscall?: unknown }).syscall === 'open';
}
