import { realpathSync, type Stats, statSync } from 'node:fs';
import { type Message, message } from '../../src/errors.ts';

type Watch = () => Message | null;

/**
 * Watches whether an open database file keeps its name. SQLite continues with a file that was removed or replaced,
 * and everything written to it is lost with the process. Returns a function that returns what is wrong, for the operator,
 * or `null`.
 */
export const watchFile = (path: string): Watch =>
  watch(path, 'file', 'changes are no longer saved. Put the file back and restart the server');

/** The same of its write-ahead log, next to the file that a link points to: SQLite removes it only with the last connection. */
export const watchLog = (path: string): Watch =>
  watch(
    `${realpathSync(path)}-wal`,
    'log (-wal)',
    'changes could be lost. Stop the server with SIGTERM, which saves them, and start it again',
  );

function watch(path: string, name: string, consequence: string): Watch {
  const opened = statSync(path);
  return () => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found && isSame(found, opened)) return null;
    const what = found ? 'replaced' : 'removed';
    const fault = `${name} was ${what} while the server was running, so ${consequence}`;
    return message('The database {fault}.', { fault });
  };
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}
