import { AppError, inEnglish } from '../../src/errors.ts';
import type { Log } from '../../src/lib/logger.ts';
import { codeOf } from '../server-errors.ts';
import type { PostgresConnection } from './connection.ts';
import { bytewiseOn, LEAST_READER, type Migration, migrations } from './schema.ts';

/** Another copy has just created it: a schema, a table, or their rows in the catalogue. */
const MADE_BY_ANOTHER = /^(23505|42P06|42P07|42710)$/;
const NO_TABLE = /^(42P01|3F000)$/;
/** Creating an index over many rows is slow. */
const LIMIT_MS = 30 * 60_000;
const TRIES = 5;

interface Version {
  version: number;
  reader: number;
}

/**
 * Migrates the tables to the version of this program, each step in one transaction under the lock of the version row.
 * A role without the right to create tables can use those that another has created.
 * @throws {AppError} `conflict`, with a message for the operator, if a newer program has created something
 * incompatible.
 */
export async function migrate(
  connection: PostgresConnection,
  steps: readonly Migration[] = migrations,
  leastReader: number = LEAST_READER,
  log: Log = () => {},
): Promise<void> {
  const row = (await current(connection)) ?? (await prepare(connection));
  let { version, reader } = row;
  const from = version;
  while (version < steps.length) ({ version, reader } = await step(connection, steps, leastReader));
  if (from > 0 && from < version) log('info', 'records upgraded', { from, to: version });
  if (reader <= steps.length) return;
  throw new AppError(
    'conflict',
    inEnglish(
      `The tables have schema version ${version}, which programs below version ${reader} cannot use; this picpool knows version ${steps.length}. Start the newer picpool that made them.`,
    ),
    { lasting: true },
  );
}

/** Returns the versions, or `null` if there are no tables yet. */
async function current(connection: PostgresConnection): Promise<Version | null> {
  const text = `SELECT version, reader FROM ${connection.table('schema_version')}`;
  try {
    return (await connection.ask<Version>('safe', text))[0] ?? null;
  } catch (error) {
    if (NO_TABLE.test(codeOf(error))) return null;
    throw error;
  }
}

async function prepare(connection: PostgresConnection): Promise<Version> {
  const table = connection.table('schema_version');
  const [schema] = table.split('.');
  for (let tries = 1; ; tries++) {
    try {
      await connection.ask('safe', `CREATE SCHEMA IF NOT EXISTS ${schema}`);
      await connection.ask(
        'safe',
        `CREATE TABLE IF NOT EXISTS ${table} (one boolean PRIMARY KEY, version integer NOT NULL, reader integer NOT NULL)`,
      );
      await connection.ask('safe', `INSERT INTO ${table} VALUES (true, 0, 0) ON CONFLICT DO NOTHING`);
      return { version: 0, reader: 0 };
    } catch (error) {
      if (tries >= TRIES || !MADE_BY_ANOTHER.test(codeOf(error))) throw error;
    }
  }
}

function step(
  connection: PostgresConnection,
  steps: readonly Migration[],
  leastReader: number,
): Promise<Version> {
  const table = connection.table('schema_version');
  return connection.transaction(
    'safe',
    async (ask) => {
      const [row = { version: 0, reader: 0 }] = await ask<Version>(
        `SELECT version, reader FROM ${table} FOR UPDATE`,
      );
      const next = steps[row.version];
      if (!next) return row;
      const [server] = await ask<{ version: string }>('SELECT version()');
      await ask(next(connection.table, bytewiseOn(server?.version ?? '')).join(';\n'));
      const done = { version: row.version + 1, reader: Math.max(row.reader, leastReader) };
      await ask(`UPDATE ${table} SET version = $1, reader = $2`, [done.version, done.reader]);
      return done;
    },
    LIMIT_MS,
  );
}
