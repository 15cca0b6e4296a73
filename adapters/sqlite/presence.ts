import { type Stats, statSync } from 'node:fs';
import { type Message, message } from '../../src/errors.ts';

/**
 * Watches whether an open database file keeps its name. SQLite continues with a file that was removed or replaced,
 * and everything written to it is lost with the process. Returns a function that returns what is wrong, for the operator,
 * or `null`.
 */
export function watchPresence(path: string): () => Message | null {
  const opened = statSync(path);
  return () => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found && isSame(found, opened)) return null;
    const what = found ? 'replaced' : 'removed';
    const fault = `file was ${what} while the server was running, so changes are no longer saved. Put the file back and restart the server`;
    return message('The database {fault}.', { fault });
  };
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}
