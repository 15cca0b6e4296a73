import { mkdir, statfs } from 'node:fs/promises';
import { AppError, type Said } from '../errors.ts';

/** Returns `storage_full` with the message if the cause is a full disk or quota, otherwise the cause itself. */
export function storageFull(cause: unknown, message: Said): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  return code === 'ENOSPC' || code === 'EDQUOT' ? new AppError('storage_full', message, { cause }) : cause;
}

/** Returns how much space the disk of a folder has, in bytes. Creates the folder if it is missing. */
export async function freeBytesOf(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
