import type { StatsFs } from 'node:fs';
import { mkdir, statfs } from 'node:fs/promises';
import { AppError, inEnglish, type Said } from '../errors.ts';

const READ_ONLY_RETRY_MS = 30_000;

/**
 * Returns `storage_full` with the message if the cause is a full disk or quota, `unavailable` if the disk is read-only, otherwise
 * the cause itself.
 */
export function storageFull(cause: unknown, message: Said): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  if (code === 'EROFS') {
    const said = inEnglish('The disk is read-only.');
    return new AppError('unavailable', said, { cause, retryAfterMs: READ_ONLY_RETRY_MS });
  }
  return code === 'ENOSPC' || code === 'EDQUOT' ? new AppError('storage_full', message, { cause }) : cause;
}

/**
 * Awaits file operations. Rejects like `storageFull`, and with `unavailable` if the system refuses for another reason:
 * rights, open files, a broken disk.
 */
export async function storing<T>(work: Promise<T>, full: Said): Promise<T> {
  return work.catch((cause: unknown) => {
    const known = storageFull(cause, full);
    const isOfSystem = cause instanceof Error && 'code' in cause && /^E[A-Z0-9]+$/.test(String(cause.code));
    if (known instanceof AppError || !isOfSystem) throw known;
    throw new AppError('unavailable', 'The image files cannot be read or written.', { cause });
  });
}

/** Reports whether a store refused something because it is full. */
export const isStorageFull = (error: unknown) => error instanceof AppError && error.code === 'storage_full';

/** Returns how much space the disk of a folder has, as `freeOn` does. Creates the folder if it is missing. */
export async function freeBytesOf(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return freeOn(await statfs(folder));
}

/** Returns how much space a disk has, in bytes; infinity if it does not tell, such as a ramfs. */
export function freeOn({ bavail, bsize, blocks }: StatsFs): number {
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}
