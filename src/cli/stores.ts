import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { openStores, type Stores } from '../../adapters/open.ts';
import { recordsAdapter } from '../../adapters/registry.ts';
import { type Config, parseConfig } from '../config.ts';
import { SERVICE_STATE } from '../image/maintenance/service-time.ts';
import { systemClock } from '../lib/clock.ts';
import { parseForeignJson } from '../lib/foreign-json.ts';
import { createLogger, type Log } from '../lib/logger.ts';
import { masked } from '../lib/masked.ts';
import { MOVED } from '../lib/state.ts';
import { credentialsOf } from '../start/credentials.ts';
import { temporaryFolder } from '../start/data-folder.ts';
import type { Surroundings } from './command.ts';
import { askPatiently } from './copying.ts';
import { noAccess, statOf, usageError } from './exit.ts';

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
  // Where in the program it failed tells nothing to the user of a command.
  const write = (line: string) => terminal.say(line.replaceAll(/\n {4}at .*/g, ''));
  const log = createLogger({ level: 'warn', format: 'pretty', write, now: Date.now });
  try {
    await requireUsed(stores, config.METADATA_URL);
    await refuseMoved(stores.state);
    return await work({ ...stores, config, log, folder: temporaryFolder(config) });
  } finally {
    await stores.close();
  }
}

/**
 * Rejects if nothing has ever been stored at the URL: a wrong prefix or database is as empty as a new one, and a backup
 * of it would take the place of the good ones.
 */
export async function requireUsed({ state, images, proxies }: Stores, url: string): Promise<void> {
  if ((await state.keys()).length > 0) return;
  if ((await askPatiently(images.summary, systemClock)).images > 0) return;
  if ((await askPatiently(proxies.summary, systemClock)).total > 0) return;
  throw usageError(
    `No server has used ${masked('METADATA_URL', url)} yet. Is it the one of the server, with its database and prefix? If it is new, start the server once.`,
  );
}

/** Rejects if the records were copied to another store, and no server has used these since: all that matters is there. */
async function refuseMoved(state: Stores['state']): Promise<void> {
  const [moved, served] = [await state.get(MOVED), await state.get(SERVICE_STATE)];
  if (moved === null) return;
  const { to, served: before } = parseForeignJson(moved) as { to: string; served?: string | null };
  if (before !== undefined && served !== before) return;
  throw usageError(
    `These records were copied to ${to} by picpool migrate, and no server has used these since. Set METADATA_URL to that store.`,
  );
}

/**
 * Rejects if the records are a file that does not exist: opening it would create an empty database that no server
 * reads.
 */
export async function requireDatabase(url: string): Promise<void> {
  const path = recordsAdapter(url).path(url);
  if (path === null) return;
  if (!(await statOf(path))?.isFile())
    throw usageError(
      `There is no database at ${path}. Check DATA_DIR, or start the server once to create it.`,
    );
  await access(dirname(path), constants.W_OK).catch((error) => {
    if (error.code === 'EROFS') throw noAccess(path, error);
  });
}
