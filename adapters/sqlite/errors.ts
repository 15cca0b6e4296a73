import { AppError, message } from '../../src/errors.ts';

/** Primary result codes of SQLite (sqlite.org/rescode.html) about the machine rather than the statement. */
const STORAGE_FAULTS = new Map([
  [5, 'is busy'],
  [6, 'is locked'],
  [7, 'is out of memory'],
  [8, 'is read-only'],
  [10, 'cannot be read or written'],
  [11, 'is damaged'],
  [14, 'cannot be opened'],
  [15, 'is busy'],
  [26, 'is not a database'],
]);
/** Another process holds the file, or has changed how it is to be locked. */
const BUSY = [5, 15];
const FULL = 13;
/** A page, or the header of the file. */
const DAMAGED = [11, 26];
const UNREADABLE = 10;

/** How long a caller should wait: a busy file is free after one transaction of the other process. */
const RETRY_AFTER_MS = 1000;

/** Reports whether another connection holds the file. */
export function isBusy(error: unknown): boolean {
  return error instanceof AppError && BUSY.includes(resultCode(error.cause));
}

/** Reports whether the file is damaged. */
export function isDamage(error: unknown): boolean {
  return error instanceof AppError && DAMAGED.includes(resultCode(error.cause));
}

/** Reports whether a full disk may be the reason: SQLite reports its own files as unreadable if they cannot grow. */
export function mayBeFull(error: unknown): error is AppError {
  return error instanceof AppError && [FULL, UNREADABLE].includes(resultCode(error.cause));
}

/** Returns the error for a disk without space. */
export function full(cause: unknown): AppError {
  return new AppError('storage_full', 'The disk of the database is full.', { cause });
}

/** Translates a driver's error to `storage_full` or `unavailable` if the storage failed. Returns others unchanged. */
export function translate(error: unknown): unknown {
  const code = resultCode(error);
  if (code === FULL) return full(error);
  const fault = STORAGE_FAULTS.get(code);
  if (fault === undefined) return error;
  const options = { cause: error, retryAfterMs: RETRY_AFTER_MS };
  return new AppError('unavailable', message('The database {fault}.', { fault }), options);
}

/** `bun:sqlite` calls the number `errno`, `node:sqlite` `errcode`; both may be extended codes. */
function resultCode(error: unknown): number {
  if (!(error instanceof Error)) return 0;
  const { errno, errcode } = error as { errno?: unknown; errcode?: unknown };
  if (typeof errcode === 'number') return errcode & 0xff;
  return error.name === 'SQLiteError' && typeof errno === 'number' ? errno & 0xff : 0;
}
