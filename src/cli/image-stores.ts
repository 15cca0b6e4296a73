import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { openStores, type Stores } from '../../adapters/open.ts';
import { recordsAdapter } from '../../adapters/registry.ts';
import { type Config, parseConfig } from '../config.ts';
import { createLogger, type Log } from '../lib/logger.ts';
import { credentialsOf } from '../start/credentials.ts';
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
  const path = recordsAdapter(config.METADATA_URL).path(config.METADATA_URL);
  if (path !== null && !(await stat(path).catch(() => null))?.isFile()) {
    throw usageError(`There is no database ${path}.`);
  }
  const stores = await openStores(config.METADATA_URL, config.BLOBS_URL, {
    runtime,
    credentials: credentialsOf(config),
  });
  const log = createLogger({ level: 'warn', format: 'pretty', write: terminal.say, now: Date.now });
  try {
    return await work({ ...stores, config, log, folder: join(resolve(config.DATA_DIR), 'tmp') });
  } finally {
    await stores.close();
  }
}
