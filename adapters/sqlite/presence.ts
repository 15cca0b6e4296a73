import { type Stats, statSync } from 'node:fs';

/**
 * Watches whether an open database file keeps its name. SQLite continues with a file that was removed or replaced,
 * and everything written to it is lost with the process. Returns a function that returns what is wrong, as a sentence
 * for the operator, or `null`.
 */
export function watchPresence(path: string): () => string | null {
  const opened = statSync(path);
  return () => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found && isSame(found, opened)) return null;
    const what = found ? 'replaced' : 'removed';
    return `The database file was ${what} while the server was running, so changes are no longer saved. Put the file back and restart the server.`;
  };
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}
