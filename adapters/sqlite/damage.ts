import { statSync } from 'node:fs';
import { AppError, message } from '../../src/errors.ts';
import type { Log } from '../../src/lib/logger.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { type Database, openDatabase } from './database.ts';
import { full, isDamage, mayBeFull } from './errors.ts';
import { openReserve, spaceBeside } from './reserve.ts';

/** A check reads some 80 MB a second on one shared core, and blocks the event loop, but a start must be quick. */
const MOST_BYTES = 16 * 2 ** 20;
/** The same after an unclean shutdown. */
const MOST_AFTER_CRASH = 64 * 2 ** 20;

/**
 * Opens the file of a server, with space reserved for deletions. Checks it first if that is quick.
 * @throws {AppError} `unavailable` if it is damaged, or like `openDatabase`.
 */
export async function openChecked(
  { openSqlite, openSqliteThread: openThread }: Pick<Runtime, 'openSqlite' | 'openSqliteThread'>,
  path: string,
  log: Log = () => {},
): Promise<Database> {
  const isDue = isCheckDue(path);
  const reserve = openReserve(path);
  const open = () => openDatabase(openSqlite, path, { reserve, openThread, log });
  try {
    const database = await open().catch((error: unknown) => {
      if (!mayBeFull(error)) throw error;
      if (reserve.release()) return open().finally(reserve.retake);
      // The first of the additional files takes 32 KiB.
      throw spaceBeside(path) < 32 * 1024 ? full(error.cause) : error;
    });
    if (isDue) await checkPages(database, path);
    return database;
  } catch (error) {
    throw isDamage(error) ? damaged(path, error) : error;
  }
}

/** Must be called before the file is opened: its log is removed when the last connection is closed. */
function isCheckDue(path: string): boolean {
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return sizeOf(path) <= (sizeOf(`${path}-wal`) > 0 ? MOST_AFTER_CRASH : MOST_BYTES);
}

async function checkPages(database: Database, path: string): Promise<void> {
  try {
    const [found] = database.prepare<{ quick_check: string }>('PRAGMA quick_check(1)').all();
    if (found?.quick_check !== 'ok') throw damaged(path, found?.quick_check);
  } catch (error) {
    await database.close();
    throw error;
  }
}

function damaged(path: string, cause: unknown): AppError {
  return new AppError(
    'unavailable',
    message('The database {fault}.', {
      fault: `${path} is damaged. Restore a backup, or run \`picpool doctor --repair\`, which saves what can still be read to a new file`,
    }),
    { cause, lasting: true },
  );
}
