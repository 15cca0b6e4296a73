import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AppError, inEnglish } from '../../src/errors.ts';
import type { Log } from '../../src/lib/logger.ts';
import { spaceBeside } from './reserve.ts';
import type { Migration } from './schema.ts';

/** The part of a database that a migration needs. */
interface Migratable {
  prepare<Row>(sql: string): { get(): Row | null; run(): void };
  transaction<T>(work: () => T): T;
}

/**
 * Migrates the schema, each step in one transaction, so that a crash leaves a complete version. Safe if several
 * processes start at once: the second finds the work done.
 * @throws {AppError} `unavailable` if the file's schema is newer than this program; nothing is changed.
 */
export function migrate(database: Migratable, migrations: readonly Migration[]): void {
  while (step(database, migrations)) {}
}

/** A larger database would delay the start for too long. */
const MOST_BYTES = 2 * 2 ** 30;
/** Number of copies that stay beside the database. */
const COPIES = 2;
/** A copy of the largest database takes less. */
const ABANDONED_MS = 3_600_000;

/**
 * Does the same for the file of a server, and logs it. A copy of the old database stays beside it, with which the previous
 * version can start, if the disk has room for two more.
 */
export function migrateFile(
  database: Migratable,
  migrations: readonly Migration[],
  { path, log }: { path: string; log: Log },
): void {
  const from = versionOf(database);
  if (from > 0 && from < migrations.length) {
    const copy = `${path}-schema${from}`;
    const size = statSync(path).size + (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
    if (size > Math.min(MOST_BYTES, spaceBeside(path) / 2)) {
      log('warn', 'no copy of the records is kept before the upgrade: too large', { bytes: size });
    } else if (keepCopy(database, { from, path, copy })) {
      log('info', 'copy of the records kept before the upgrade', { copy });
    }
  }
  migrate(database, migrations);
  if (from > 0 && from < migrations.length) log('info', 'records upgraded', { from, to: migrations.length });
}

/** Several processes may do so at once. Returns false if another one has upgraded the records meanwhile. */
function keepCopy(
  database: Migratable,
  { from, path, copy }: { from: number; path: string; copy: string },
): boolean {
  const folder = dirname(path);
  const beside = readdirSync(folder).filter((name) => name.startsWith(`${basename(path)}-schema`));
  const placeOf = (name: string) => join(folder, name);
  // What a process has left that was killed while it wrote; another one may just be writing.
  for (const name of beside) {
    const { mtimeMs = Date.now() } = statSync(placeOf(name), { throwIfNoEntry: false }) ?? {};
    if (name.includes('.part-') && Date.now() - mtimeMs > ABANDONED_MS)
      rmSync(placeOf(name), { force: true });
  }
  const part = `${copy}.part-${randomUUID()}`;
  try {
    // SQLite would let all users of the machine read it.
    closeSync(openSync(part, 'wx', 0o600));
    database.prepare(`VACUUM INTO '${part.replaceAll("'", "''")}'`).run();
    if (versionOf(database) !== from) return false;
    renameSync(part, copy);
  } finally {
    rmSync(part, { force: true });
  }
  const versionIn = (name: string) => Number(name.slice(`${basename(path)}-schema`.length));
  const copies = [...new Set([...beside, basename(copy)])].filter((name) =>
    Number.isInteger(versionIn(name)),
  );
  copies.sort((one, other) => versionIn(other) - versionIn(one));
  for (const old of copies.slice(COPIES)) rmSync(placeOf(old), { force: true });
  return true;
}

function versionOf(database: Migratable): number {
  return database.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0;
}

function step(database: Migratable, migrations: readonly Migration[]): boolean {
  return database.transaction(() => {
    const version = versionOf(database);
    if (version > migrations.length) {
      throw new AppError(
        'unavailable',
        inEnglish(
          `The database has schema version ${version}, but this picpool only knows versions up to ${migrations.length}. Start the newer picpool that wrote it.`,
        ),
        { lasting: true },
      );
    }
    const migration = migrations[version];
    if (!migration) return false;
    for (const sql of migration) database.prepare(sql).run();
    database.prepare(`PRAGMA user_version = ${version + 1}`).run();
    return true;
  });
}
