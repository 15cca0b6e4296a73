import { type FileHandle, open, realpath } from 'node:fs/promises';
import { AppError } from '../../src/errors.ts';

/**
 * Opens the write-ahead log of the database at `path`, which exists while a connection is open. SQLite would sync it
 * in the caller's thread, and block the event loop for as long as the disk takes. SQLite holds no lock on this file,
 * so a second descriptor is harmless.
 */
export async function openLogSync(path: string) {
  const log = await openLog(path);
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;

  async function sync(): Promise<void> {
    last = next ?? last;
    next = null;
    await log.datasync().catch((cause: unknown) => {
      throw new AppError('unavailable', 'The database log cannot be written to the disk.', { cause });
    });
  }

  return {
    /** Resolves when everything now in the log is on the disk. Callers during one sync share the next. */
    done(): Promise<void> {
      next ??= last.then(sync, sync);
      return next;
    },
    close(): void {
      void last.finally(() => log.close()).catch(() => {});
    },
  };
}

/** Syncs a database's log to the disk in another thread. */
export type LogSync = Awaited<ReturnType<typeof openLogSync>>;

/** It is next to the file that a link points to. */
async function openLog(path: string): Promise<FileHandle> {
  try {
    return await open(`${await realpath(path)}-wal`, 'r');
  } catch (cause) {
    throw new AppError('unavailable', 'The database log cannot be opened.', { cause });
  }
}
