import { realpathSync, statSync } from 'node:fs';
import { type Message, message } from '../../src/errors.ts';

/**
 * Watches whether an open database file keeps its name, and so do its log and the log's index, which stand beside the file even if `path`
 * is a link to it. SQLite continues with files that were removed or replaced, and what is written to them is lost with the process; without the same index,
 * two processes overwrite each other's part of the log. Returns functions that return what is wrong with each, for the operator, or `null`.
 */
export function watchPresence(path: string) {
  const file = watch(path, 'file', 'no longer saved. Put the file back and restart the server');
  const saving = 'not safe. Stop the server with SIGTERM, which saves them, and start it again';
  const beside = (end: string, name: string) => watch(realpathSync(path) + end, `${name} (${end})`, saving);
  return { file, log: beside('-wal', 'log'), index: beside('-shm', 'index') };
}

function watch(path: string, name: string, changes: string): () => Message | null {
  const opened = statSync(path, { throwIfNoEntry: false });
  return () => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!opened || (found?.ino === opened.ino && found.dev === opened.dev)) return null;
    const what = found ? 'replaced' : 'removed';
    const fault = `${name} was ${what} while the server was running, so changes are ${changes}`;
    return message('The database {fault}.', { fault });
  };
}
