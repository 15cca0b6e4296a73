import { AppError } from '../../src/errors.ts';
import { LateError } from '../../src/lib/deadline.ts';
import { codeOf, type Failure, isUntrusted, refused, unavailable } from '../server-errors.ts';

/**
 * Classes and codes (postgresql.org/docs/current/errcodes-appendix.html) with which a server reports that nothing was
 * done, and that a retry may succeed soon.
 */
const REFUSALS =
  /^(40001|40003|40P01|25006|25P03|26000|42P05|53\w{3}|55P03|57P0[1-5]|08P01|08001|08004|XX000R)$/;
/** Permanent refusals: a wrong password, a role without the right, a server that does not know the password. */
const LASTING = /^(28\w{3}|3D000|42501|0A000|SASL_SIGNATURE_MISMATCH)$/;
/** No connection was made, so the statement was never sent. */
const NOT_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT|CONNECT_TIMEOUT)$/;
const SQLSTATE = /^[0-9A-Z]{5}$/;
const DISK_FULL = '53100';
export const READ_ONLY = '25006';
/** What callers are told instead of that the server does not respond. */
const FAULTS: Readonly<Record<string, string>> = {
  [READ_ONLY]: 'is read-only',
  53300: 'has no connection left',
};
const CANCELLED = '57014';
/** The connection's server is read-only or shutting down. */
const MOVED = /^(25006|57P0[1-5]|08\w{3})$/;
/** The server, or a pooler in front of it, does not keep prepared statements for this connection. */
const UNPREPARED = /^(26000|42P05)$/;

export function classify(error: unknown): Failure {
  const code = codeOf(error);
  if (LASTING.test(code) || isUntrusted(error)) return 'lasting';
  if (REFUSALS.test(code) || NOT_SENT.test(code)) return 'refused';
  if (error instanceof LateError || code === CANCELLED) return 'unclear';
  if (!(error instanceof Error)) return 'fault';
  if (isFromServer(error) || error instanceof AppError || error instanceof TypeError) return 'fault';
  return code === '' ? 'fault' : 'unclear';
}

/** Reports whether to reconnect, perhaps to another server. A server that cancels a statement is alive. */
export function isMoved(error: unknown): boolean {
  const code = codeOf(error);
  if (code === CANCELLED) return false;
  return MOVED.test(code) || NOT_SENT.test(code) || classify(error) === 'unclear';
}

/** Reports whether the connection has ended, or the server is about to end it. */
export function isDisconnected(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof AppError) return false;
  if (isFromServer(error)) return 'severity' in error && error.severity === 'FATAL';
  return codeOf(error) !== '';
}

/**
 * Reports whether the error comes from the server rather than the driver, by the fields of the protocol: the driver's
 * class has another name in the binary.
 */
export function isFromServer(error: unknown): boolean {
  return error instanceof Error && 'severity_local' in error && SQLSTATE.test(codeOf(error));
}

export function isUnprepared(error: unknown): boolean {
  return UNPREPARED.test(codeOf(error));
}

export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === READ_ONLY;
}

export function isCancelled(error: unknown): boolean {
  return codeOf(error) === CANCELLED;
}

/** Returns the error for a caller if the statement itself is not at fault. */
export function failure(cause: unknown): AppError {
  if (codeOf(cause) === DISK_FULL) {
    return new AppError('storage_full', 'The disk of the database is full.', { cause });
  }
  if (classify(cause) === 'lasting') return refused(cause);
  return unavailable(cause, FAULTS[codeOf(cause)]);
}
