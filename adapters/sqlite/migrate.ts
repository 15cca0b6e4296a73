import { AppError, inEnglish } from '../../src/errors.ts';
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

function step(database: Migratable, migrations: readonly Migration[]): boolean {
  return database.transaction(() => {
    const version =
      database.prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0;
    if (version > migrations.length) {
      throw new AppError(
        'unavailable',
        inEnglish(
          `The database has schema version ${version}, but this picpool only knows versions up to ${migrations.length}. Start the newer picpool that wrote it.`,
        ),
      );
    }
    const migration = migrations[version];
    if (!migration) return false;
    for (const sql of migration) database.prepare(sql).run();
    database.prepare(`PRAGMA user_version = ${version + 1}`).run();
    return true;
  });
}
