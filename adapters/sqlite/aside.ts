import type { Runtime, SqliteThread, SqliteValue } from '../../src/runtime/runtime.ts';
import { translate } from './errors.ts';

/** A connection to a database file in a separate thread, opened on first use. */
export function createAside(
  openThread: NonNullable<Runtime['openSqliteThread']>,
  path: string,
  settings: readonly string[],
) {
  let thread: SqliteThread | null = null;

  async function opened(): Promise<SqliteThread> {
    if (thread && !thread.hasEnded()) return thread;
    const fresh = openThread(path);
    thread = fresh;
    await Promise.all(settings.map((setting) => fresh.all(`PRAGMA ${setting}`)));
    return fresh;
  }

  return {
    /** Runs the statement after all earlier ones. Rejects with `AppError` if the storage fails; see `errors.ts`. */
    async all<Row>(sql: string, ...values: SqliteValue[]): Promise<Row[]> {
      try {
        return (await (await opened()).all(sql, ...values)) as Row[];
      } catch (error) {
        throw translate(error);
      }
    },
    /** Resolves when the file is closed. */
    close: async () => thread?.close(),
  };
}
