import { type Finding, fail, warn } from '../../src/findings/finding.ts';
import type { PostgresConnection } from './connection.ts';

/** The values of settings with which no acknowledged change can be lost, and what to report otherwise. */
const SETTINGS: { name: string; right: (value: string) => boolean; finding: Finding }[] = [
  {
    name: 'fsync',
    right: (value) => value === 'on',
    finding: warn(
      'Postgres does not sync its log (fsync off): a crash of the machine may destroy all records.',
      'Set fsync on.',
    ),
  },
  {
    name: 'full_page_writes',
    right: (value) => value === 'on',
    finding: warn(
      'Postgres does not guard against torn pages (full_page_writes off).',
      'Set full_page_writes on, unless the file system writes pages as a whole.',
    ),
  },
  {
    name: 'synchronous_commit',
    right: (value) => value !== 'off',
    finding: warn(
      'Postgres acknowledges uploads before they are on its disk (synchronous_commit off).',
      'Set synchronous_commit on for the role of picpool.',
    ),
  },
  {
    name: 'transaction_read_only',
    right: (value) => value === 'off',
    finding: fail(
      'The Postgres server is read-only: it is a replica, or configured as read-only.',
      'Name the primary in METADATA_URL. With several hosts, picpool finds the one that accepts writes.',
    ),
  },
];

/**
 * Returns the server's settings that are risky for a store of records. Settings that it does not know are not a risk.
 */
export async function postgresFindings({ ask }: Pick<PostgresConnection, 'ask'>): Promise<Finding[]> {
  const names = SETTINGS.map(({ name }) => `current_setting('${name}', true) AS ${name}`);
  const [found = {}] = await ask<Record<string, string | null>>('safe', `SELECT ${names.join(', ')}`);
  return SETTINGS.filter(({ name, right }) => !right(found[name] ?? 'on') && found[name] != null).map(
    ({ finding }) => finding,
  );
}
