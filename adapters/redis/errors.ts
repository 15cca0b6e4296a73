import { AppError } from '../../src/errors.ts';

/** Replies with which a server refuses a command before doing anything. */
const REFUSALS =
  /^(READONLY|OOM|LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|NOAUTH|WRONGPASS|NOPERM|MOVED|ASK|UNBLOCKED)\b/;

/** Lasting refusals: an immediate retry would not help. */
const LASTING = /^(OOM|MISCONF|NOAUTH|WRONGPASS|NOPERM)\b/;

/** Codes of rejected certificates. */
const UNTRUSTED = /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** The error of ioredis for a command that it did not send. */
const NOT_SENT = /enableOfflineQueue/;

/** How long a caller should wait: reconnection is tried at least once a second. */
const RETRY_AFTER_MS = 2000;

/**
 * - `refused`: nothing was done, and a retry may soon succeed
 * - `lasting`: nothing was done, and a retry will not help
 * - `unclear`: the reply was lost; the command may or may not have been done
 * - `fault`: the server rejects the command itself
 */
export type Failure = 'refused' | 'lasting' | 'unclear' | 'fault';

export function classify(error: unknown): Failure {
  if (!(error instanceof Error)) return 'fault';
  if (LASTING.test(error.message) || UNTRUSTED.test(codeOf(error))) return 'lasting';
  if (REFUSALS.test(error.message) || NOT_SENT.test(error.message)) return 'refused';
  return error.name === 'ReplyError' ? 'fault' : 'unclear';
}

/** Returns `unavailable` with a message for the caller. The server's own message is only logged. */
export function unavailable(cause: unknown): AppError {
  const message = 'The database does not respond. Try again in a few seconds.';
  return new AppError('unavailable', message, { cause, retryAfterMs: RETRY_AFTER_MS });
}

/** Returns a permanent `unavailable`: a rejected password or certificate. */
export function refused(cause: unknown): AppError {
  return new AppError('unavailable', 'The database refuses the credentials of this server.', { cause });
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}
