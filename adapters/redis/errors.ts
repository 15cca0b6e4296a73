import { AppError } from '../../src/errors.ts';

/** Replies by which a server refuses a command before it has done anything. */
const REFUSALS =
  /^(READONLY|OOM|LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|NOAUTH|WRONGPASS|NOPERM|MOVED|ASK|UNBLOCKED)\b/;

/** Refusals that last: trying again at once would change nothing. */
const LASTING = /^(OOM|MISCONF|NOAUTH|WRONGPASS|NOPERM)\b/;

/** Codes of certificates that are not accepted. */
const UNTRUSTED = /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** What ioredis says of a command that it did not send. */
const NOT_SENT = /enableOfflineQueue/;

/** How long a caller should wait: reconnection is tried at least once a second. */
const RETRY_AFTER_MS = 2000;

/**
 * - `refused`: nothing was done, and soon it may work
 * - `lasting`: nothing was done, and it will stay so
 * - `unclear`: the reply did not come; the command may have been done or not
 * - `fault`: the server says that the command itself is wrong
 */
export type Failure = 'refused' | 'lasting' | 'unclear' | 'fault';

export function classify(error: unknown): Failure {
  if (!(error instanceof Error)) return 'fault';
  if (LASTING.test(error.message) || UNTRUSTED.test(codeOf(error))) return 'lasting';
  if (REFUSALS.test(error.message) || NOT_SENT.test(error.message)) return 'refused';
  return error.name === 'ReplyError' ? 'fault' : 'unclear';
}

/** `unavailable` in words for the caller; the server's own words stay in the log. */
export function unavailable(cause: unknown): AppError {
  const message = 'The database does not answer. Please try again in a few seconds.';
  return new AppError('unavailable', message, { cause, retryAfterMs: RETRY_AFTER_MS });
}

/** `unavailable` for good: a password or a certificate that is not accepted. */
export function refused(cause: unknown): AppError {
  return new AppError('unavailable', 'The database refuses the credentials of this server.', { cause });
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}
