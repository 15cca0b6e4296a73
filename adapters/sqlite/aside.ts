import type { Runtime, SqliteThread, SqliteValue } from '../../src/runtime/runtime.ts';
import { translate } from './errors.ts';

/** A connection to a database file in a separate thread, opened on first use. */
interface Aside {
  /** Runs the statement after all earlier ones. Rejects with `AppError` if the storage fails; see `errors.ts`. */
  all<Row>(sql: string, ...values: SqliteValue[]): Promise<Row[]>;
  /** Resolves when the file is closed. */
  close(): Promise<void>;
}

export function createAside(
  openThread: NonNullable<Runtime['openSqliteThread']>,
  path: string,
  settings: readonly string[],
): Aside {
  let thread: SqliteThread | null = null;

  async function opened(): Promise<SqliteThread> {
    if (thread && !thread.hasEnded()) return thread;
    const fresh = openThread(path);
    thread = fresh;
    await Promise.all(settings.map((setting) => fresh.all(`PRAGMA ${setting}`)));
    return fresh;
  }

  return {
    async all<Row>(sql: string, ...values: SqliteValue[]) {
      try {
        return (await (await opened()).all(sql, ...values)) as Row[];
      } catch (error) {
        throw translate(error);
      }
    },
    close: async () => thread?.close(),
  };
}
