import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError, message } from '../../src/errors.ts';
import { BoundedMap } from '../../src/lib/bounded-map.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/logger.ts';
import type { Runtime, SqliteDatabase, SqliteStatement, SqliteValue } from '../../src/runtime/runtime.ts';
import { createAside } from './aside.ts';
import { isBusy, translate } from './errors.ts';
import { type LogSync, openLogSync } from './log-sync.ts';
import { migrate, migrateFile } from './migrate.ts';
import { watchPresence } from './presence.ts';
import { FOR_DELETIONS, type Reserve } from './reserve.ts';
import { migrations } from './schema.ts';

/** How long a writer waits for another process. Short, because it blocks the event loop. */
const BUSY_TIMEOUT_MS = 500;

/** How long opening waits while another process opens the same file. */
const OPEN_TIMEOUT_MS = 3000;
/** Pause between two attempts at what SQLite does not wait for itself. */
const BUSY_PAUSE_MS = 10;

/**
 * Replaces `BUSY_TIMEOUT_MS` after a timeout, until an attempt succeeds: otherwise every attempt would block the
 * event loop.
 */
const STILL_BUSY_TIMEOUT_MS = 5;

/** 32 MiB of pages: the inner pages of every index of 200,000 proxies and 1,000,000 images. */
const CACHE_KIB = 32 * 1024;

/** 16 MiB of log between checkpoints, so that a page touched by many transactions is copied and synced once. */
const CHECKPOINT_PAGES = 4000;

/** Settings of every connection that writes. */
export const SETTINGS = [
  `busy_timeout = ${BUSY_TIMEOUT_MS}`,
  'synchronous = NORMAL',
  'foreign_keys = ON',
  'temp_store = MEMORY',
  `cache_size = -${CACHE_KIB}`,
  `wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
];

/** Settings of the thread that reads. The system caches what it does not keep of the indexes. */
export const READ_ASIDE_SETTINGS = ['query_only = ON', 'cache_size = -4096'];

interface OpenOptions {
  /** Space reserved for deletions. */
  reserve?: Reserve | undefined;
  /** Told of an upgrade of the schema, before which a copy of the file is kept. Without it, none is. */
  log?: Log;
  /** Without it, slow queries block the event loop. */
  openThread?: Runtime['openSqliteThread'];
}

/** Maximum number of cached statements. The stores have about 60, and one for each combination of filters. */
const MAX_STATEMENTS = 500;

/**
 * Opens the file (`:memory:` for a private database), creating it and its folder, and migrates its schema.
 *
 * The file is in WAL mode with `synchronous=NORMAL`: everything acknowledged survives the death of the process (`kill
 * -9`) at any moment. A power failure leaves the file consistent, but may undo the transactions since the last
 * checkpoint, except those before an `onDisk`.
 * @throws {AppError} `unavailable` if the file cannot be opened, or a newer picpool has written it.
 */
export async function openDatabase(
  openSqlite: Runtime['openSqlite'],
  path: string,
  { reserve, openThread, log }: OpenOptions = {},
): Promise<Database> {
  const driver = await openFile(openSqlite, path);
  reserve?.renew();
  try {
    const surroundings: Surroundings = { reserve };
    const database = wrap(driver, surroundings);
    /* `node:sqlite` gives the result code only for prepared statements, so nothing here uses `exec`. */
    const mode = await whenFree(() => {
      for (const setting of SETTINGS) database.prepare(`PRAGMA ${setting}`).all();
      return database.prepare<{ journal_mode: string }>('PRAGMA journal_mode = WAL').get()?.journal_mode;
    });
    // A file system without shared memory does not support WAL: SQLite then syncs itself.
    if (mode === 'delete') database.prepare('PRAGMA synchronous = FULL').all();
    await whenFree(() =>
      log ? migrateFile(database, migrations, { path, log }) : migrate(database, migrations),
    );
    if (path !== ':memory:') surroundings.presence = watchPresence(path);
    if (mode !== 'wal') return database;
    surroundings.log = await openLogSync(path);
    if (!openThread) return database;
    const aside = createAside(openThread, path, READ_ASIDE_SETTINGS);
    return {
      ...database,
      readAside: (sql, ...values) =>
        database.fileFault() === null ? aside.all(sql, ...values) : database.readAside(sql, ...values),
      async close() {
        await aside.close();
        await database.close();
      },
    };
  } catch (error) {
    driver.close();
    throw error;
  }
}

/**
 * Tries again while the file is busy. When another process switches it to WAL mode, SQLite says so at once, regardless
 * of `busy_timeout`; a migration by another process may take longer than that.
 */
async function whenFree<T>(work: () => T): Promise<T> {
  const deadline = performance.now() + OPEN_TIMEOUT_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
    await systemClock.sleep(BUSY_PAUSE_MS);
  }
}

/** @throws {AppError} `unavailable` if it cannot be opened. */
export async function openFile(openSqlite: Runtime['openSqlite'], path: string): Promise<SqliteDatabase> {
  try {
    if (path !== ':memory:') createPrivate(path);
    return await openSqlite(path);
  } catch (cause) {
    throw new AppError(
      'unavailable',
      message('The database {fault}.', { fault: `${path} cannot be opened` }),
      { cause },
    );
  }
}

/**
 * Creates the file if it does not exist. SQLite gives its additional files the mode of this one. An existing file is
 * never opened here: closing any descriptor of a file drops all locks that the process holds on it, also those of
 * SQLite, and another process would then remove the log under the server. Synchronous, so that no connection is
 * opened in between.
 */
function createPrivate(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
}

interface Surroundings {
  /** Known only once SQLite has created the log, as is `log`. */
  presence?: ReturnType<typeof watchPresence>;
  reserve?: Reserve | undefined;
  /** What `onDisk` waits for. */
  log?: LogSync;
}

/** Wraps an open, configured connection. */
export function wrap(driver: SqliteDatabase, surroundings: Surroundings = {}) {
  const { reserve } = surroundings;
  const fileFault = () => {
    const { presence } = surroundings;
    return presence?.file() ?? presence?.log() ?? presence?.index() ?? null;
  };
  const statements = new BoundedMap<string, SqliteStatement>(MAX_STATEMENTS);
  let inTransaction = false;
  let timeoutMs = BUSY_TIMEOUT_MS;

  function cached(sql: string): SqliteStatement {
    const known = statements.get(sql);
    if (known) return known;
    const statement = guard(() => driver.prepare(sql));
    statements.set(sql, statement);
    return statement;
  }

  function run(sql: string): void {
    guard(() => cached(sql).run());
  }

  function wait(ms: number): void {
    if (ms !== timeoutMs) guard(() => cached(`PRAGMA busy_timeout = ${ms}`).all());
    timeoutMs = ms;
  }

  function beginWriting(): void {
    const fault = fileFault();
    if (fault !== null) {
      // What was committed before must not be lost if the process is killed. A log that has kept its name may have more users by now.
      if (!surroundings.presence?.file() && surroundings.presence?.log()) emptyLog();
      throw new AppError('unavailable', fault);
    }
    try {
      run('BEGIN IMMEDIATE');
    } catch (error) {
      wait(STILL_BUSY_TIMEOUT_MS);
      throw error;
    }
    wait(BUSY_TIMEOUT_MS);
  }

  function inside<T>(begin: () => void, work: () => T): T {
    if (inTransaction) return work();
    begin();
    inTransaction = true;
    try {
      const result = work();
      run('COMMIT');
      return result;
    } catch (error) {
      rollBack(driver);
      throw error;
    } finally {
      inTransaction = false;
    }
  }

  const transaction = <T>(work: () => T) => inside(beginWriting, work);

  function withReserve<T>(work: () => T, least?: number): T {
    reserve?.renew();
    try {
      return transaction(work);
    } catch (error) {
      const isFull = error instanceof AppError && error.code === 'storage_full';
      if (!isFull || inTransaction || !reserve?.release(least)) throw error;
      try {
        emptyLog();
        return transaction(work);
      } finally {
        reserve.retake();
      }
    }
  }

  /** The log holds a page once for each write: in the database it takes its space once. */
  function emptyLog(): void {
    // A slow reader keeps the log, and must not hold up the event loop.
    wait(STILL_BUSY_TIMEOUT_MS);
    try {
      cached('PRAGMA wal_checkpoint(TRUNCATE)').all();
    } catch {
      // The database has no room for all of it.
    }
  }

  const prepare = <Row>(sql: string) => toStatement<Row>(cached(sql));

  return {
    /** Prepares the statement, or returns it from the cache. */
    prepare,
    /**
     * Runs the work in one write transaction, all or nothing; inside another one it becomes part of that. Throws
     * `unavailable` if the file was removed.
     */
    transaction,
    /** Like `transaction`, for work that removes something: if the disk is full, it uses the reserved space. */
    freeing: <T>(work: () => T): T => withReserve(work),
    /** The same for small writes that must not wait until there is space, and leave a part of it to deletions. */
    urgent: <T>(work: () => T): T => withReserve(work, FOR_DELETIONS),
    /** Runs the work on one snapshot, unaffected by other processes' writes. */
    snapshot: <T>(work: () => T): T => inside(() => run('BEGIN'), work),
    /**
     * Runs a possibly slow query, over another connection in a separate thread if the file allows that. It sees
     * everything committed before.
     */
    readAside: async <Row>(sql: string, ...values: SqliteValue[]): Promise<Row[]> =>
      prepare<Row>(sql).all(...values),
    /** Resolves when everything committed would survive a power failure. */
    onDisk: async () => surroundings.log?.done(),
    /** Returns what is wrong with the file itself, as a sentence for the operator; `null` if it is in place. */
    fileFault,
    /** Resolves when all connections to the file are closed. */
    async close(): Promise<void> {
      for (const statement of statements.values()) statement.finalize?.();
      driver.close();
      surroundings.log?.close();
    },
  };
}

/**
 * One connection to the database file, used by all stores of the process. All but `onDisk` is synchronous: nothing
 * interrupts a store between two `await`s. Storage failures throw `AppError`; see `errors.ts`.
 */
export type Database = ReturnType<typeof wrap>;

/** A prepared statement whose rows are plain objects on every runtime. `Row` is what its SQL selects. */
function toStatement<Row>(statement: SqliteStatement) {
  return {
    get(...values: SqliteValue[]): Row | null {
      const row = guard(() => statement.get(...values)) ?? null;
      return row === null ? null : (plain<Row>([row])[0] ?? null);
    },
    all: (...values: SqliteValue[]) => plain<Row>(guard(() => statement.all(...values))),
    run: (...values: SqliteValue[]): void => {
      guard(() => statement.run(...values));
    },
  };
}

/** `node:sqlite` creates rows without a prototype; callers get ordinary objects. */
function plain<Row>(rows: unknown[]): Row[] {
  const [first] = rows;
  const bare = first !== undefined && Object.getPrototypeOf(first) === null;
  return (bare ? rows.map((row) => ({ ...(row as object) })) : rows) as Row[];
}

/** After some failures (a full disk) SQLite has already rolled back, and reports that with another error. */
function rollBack(driver: SqliteDatabase): void {
  try {
    driver.exec('ROLLBACK');
  } catch {}
}

function guard<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translate(error);
  }
}
