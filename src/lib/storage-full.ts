import { AppError, type Said } from '../errors.ts';

/** Returns `storage_full` with the message if the cause is a full disk or quota, otherwise the cause itself. */
export function storageFull(cause: unknown, message: Said): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  return code === 'ENOSPC' || code === 'EDQUOT' ? new AppError('storage_full', message, { cause }) : cause;
}
