import { stat } from 'node:fs/promises';
import type { RecordStores } from '../../adapters/adapter.ts';
import { openRecords, openStores, type Stores } from '../../adapters/open.ts';
import { recordsAdapter } from '../../adapters/registry.ts';
import { type Config, parseConfig } from '../config.ts';
import { createLogger, type Log } from '../lib/logger.ts';
import { credentialsOf } from '../start/credentials.ts';
import { temporaryFolder } from '../start/data-folder.ts';
import type { Surroundings } from './command.ts';
import { usageError } from './exit.ts';

/** The stores from the settings, for a command that uses them beside the server. */
export interface OpenedStores extends Stores {
  config: Config;
  /** For temporary files. */
  folder: string;
  log: Log;
}

/** Runs the work with the stores from the settings. Never creates a database. */
export async function withStores<T>(
  { env, runtime, terminal }: Surroundings,
  work: (stores: OpenedStores) => Promise<T>,
): Promise<T> {
  const config = parseConfig(env);
  await requireDatabase(config.METADATA_URL);
  const stores = await openStores(config.METADATA_URL, config.BLOBS_URL, {
    runtime,
    credentials: credentialsOf(config),
  });
  const log = createLogger({ level: 'warn', format: 'pretty', write: terminal.say, now: Date.now });
  try {
    return await work({ ...stores, config, log, folder: temporaryFolder(config) });
  } finally {
    await stores.close();
  }
}

/** Runs the work with the records from the settings. Never creates a database. */
export async function withRecords<T>(
  { env, runtime }: Surroundings,
  work: (records: RecordStores) => Promise<T>,
): Promise<T> {
  const { METADATA_URL } = parseConfig(env);
  await requireDatabase(METADATA_URL);
  const records = await openRecords(METADATA_URL, { runtime });
  try {
    return await work(records);
  } finally {
    await records.close();
  }
}

/**
 * Rejects if the records are a file that does not exist: opening it would create an empty database that no server
 * reads.
 */
export async function requireDatabase(url: string): Promise<void> {
  const path = recordsAdapter(url).path(url);
  if (path === null || (await stat(path).catch(() => null))?.isFile()) return;
  throw usageError(`There is no database at ${path}. Check DATA_DIR, or start the server once to create it.`);
}
