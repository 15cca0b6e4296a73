import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { findingsOf, type OpenOptions, openStores, type Stores } from '../../adapters/open.ts';
import { filesAdapter, recordsAdapter } from '../../adapters/registry.ts';
import type { Config } from '../config.ts';
import { withCause } from '../errors.ts';
import { createDoubts } from '../image/maintenance/doubts.ts';
import { readNote, writeNote } from '../image/maintenance/note.ts';
import { IDENTITY_STATE, readMark } from '../image/maintenance/store-identity.ts';
import type { Clock } from '../lib/clock.ts';
import { within } from '../lib/deadline.ts';
import { countOf } from '../lib/format.ts';
import type { Log } from '../lib/logger.ts';
import { masked } from '../lib/masked.ts';
import { freeBytesOf, isStorageFull } from '../lib/storage-full.ts';
import { credentialsOf } from '../start/credentials.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { mayBeMade, type Patient, withFolder } from './system.ts';

const LIMIT_MS = 15_000;
/** Ten million records on Postgres take seconds to count, and a cold disk makes that minutes. */
const COMPARE_LIMIT_MS = 120_000;
/** Pause before a store that did not respond is asked again, in ms. */
const RETRY_MS = 5000;
/** State key of what is stored for a moment. */
const NOTE = 'doctor';

/** With less than this, writing would use the space that is reserved for deletions. */
const LEAST_FREE = 2 ** 20;
const MORE_SPACE = 'Give it more space, or delete something.';

const LEVELS = { fail: 'error', warn: 'warn', unknown: 'info', open: 'info', ok: 'info' } as const;

/** Opens the store of the records, reads the statistics and writes a note. Never creates a database. */
export async function checkRecords(patient: Patient): Promise<readonly Finding[]> {
  const url = patient.config.METADATA_URL;
  const shown = masked('METADATA_URL', url);
  const { path, advice } = recordsAdapter(url);
  const file = path(url);
  const missing = await missingPath(file);
  if (missing !== null) return [await toBeMade(missing, shown, advice)];
  if (file !== null && (await freeBytesOf(dirname(file))) < LEAST_FREE)
    return [fail(`${shown}: The disk of the database is full.`, MORE_SPACE)];
  return examineStores(patient, shown, advice, async ({ state, proxies, images, condition }) => {
    // Unlike `set`, it fails while a Redis takes only what a removal needs.
    await state.getOrSet(NOTE, new Date().toISOString());
    // A store that no server has used stays as it was.
    await state.remove(NOTE);
    const [pool, host] = [await proxies.summary(), await images.summary()];
    const text = `${shown}, ${countOf(pool.total, 'proxy', 'proxies')}, ${countOf(host.images, 'image')}`;
    const unreadable = Object.values(condition().unreadable).reduce((sum, count) => sum + count, 0);
    if (unreadable === 0) return [ok(text)];
    const found = `${text}, ${countOf(unreadable, 'record')} cannot be read`;
    const advice =
      "A newer picpool wrote them, or they are damaged. They are skipped; the server's log names them.";
    return [warn(found, advice)];
  });
}

/** Stores a small file, reads it and removes it. Never creates the data folder. */
export async function checkBlobs(patient: Patient): Promise<readonly Finding[]> {
  const { BLOBS_URL: url } = patient.config;
  const shown = masked('BLOBS_URL', url);
  const { path, advice } = filesAdapter(url);
  const missing = await missingPath(path(url));
  if (missing !== null) return [await toBeMade(missing, shown, advice)];
  const memory = { ...patient, config: { ...patient.config, METADATA_URL: 'sqlite::memory:' } };
  return examineStores(memory, shown, advice, async ({ blobs }) => {
    const key = `doctor-${randomUUID()}.txt`;
    await withFolder(patient.config, (folder) => writeNote(blobs, folder, key, key));
    const text = await readNote(blobs, key);
    await blobs.remove(key);
    if (text !== key) throw new Error('what was stored cannot be read back');
    return [ok(shown)];
  });
}

/** Asks the server that counts requests. */
export async function checkLimits({ config }: Patient): Promise<readonly Finding[]> {
  const { LIMITS_URL: url = '' } = config;
  const shown = masked('LIMITS_URL', url);
  const limits = await recordsAdapter(url).openLimiter?.(url, () => {});
  const asked = within(LIMIT_MS, limits?.ask() ?? Promise.resolve()).finally(limits?.close);
  return asked.then(
    () => [ok(shown)],
    (error: unknown) => [
      fail(`${shown}: ${withCause(error)}`, 'Until it answers, each copy limits on its own.'),
    ],
  );
}

/**
 * Checks that records and files belong together, also if one of them has disappeared. Before the first start there is
 * nothing to compare, and stores that cannot be opened were reported before.
 */
export async function checkPair({ config, runtime }: Patient): Promise<readonly Finding[]> {
  const path = recordsAdapter(config.METADATA_URL).path(config.METADATA_URL);
  // Opening a database would create it.
  const records = (await missingPath(path)) === null ? config.METADATA_URL : 'sqlite::memory:';
  const access = { runtime, credentials: credentialsOf(config) };
  const stores = await within(LIMIT_MS, openStores(records, config.BLOBS_URL, access)).catch(() => null);
  if (stores === null) return [];
  const findings = await within(COMPARE_LIMIT_MS, doubtsOf(stores)).finally(() => stores.close());
  return findings?.length === 0 ? [ok('they belong together')] : (findings ?? []);
}

/** Returns why records and files may not belong together; `null` if there never were any. */
export async function doubtsOf(stores: Stores): Promise<readonly Finding[] | null> {
  const marks = [await stores.state.get(IDENTITY_STATE), await readMark(stores.blobs)];
  const { images } = await stores.images.summary();
  if (images === 0 && marks.every((mark) => mark === null)) return null;
  return createDoubts({ ...stores, now: Date.now, log: () => {} }).look();
}

interface DurabilityOptions extends OpenOptions {
  config: Pick<Config, 'METADATA_URL' | 'BLOBS_URL' | 'SERVICES'>;
  clock: Pick<Clock, 'sleep'>;
  log: Log;
}

/**
 * Logs once what the stores in use may lose. A store that is unavailable is asked when it is back. Ends when the
 * signal aborts.
 */
export async function logDurability(options: DurabilityOptions, signal: AbortSignal): Promise<void> {
  await Promise.all(storesInUse(options.config).map((url) => logStore(url, options, signal)));
}

async function logStore(url: string, options: DurabilityOptions, signal: AbortSignal): Promise<void> {
  const { clock, log } = options;
  while (!signal.aborted) {
    const findings = await findingsOf(url, options).catch(() => null);
    if (signal.aborted) return;
    for (const { level, text, advice } of findings ?? [])
      log(LEVELS[level], 'a store may lose acknowledged changes', { finding: text, advice });
    if (findings) return;
    await clock.sleep(RETRY_MS, signal).catch(() => {});
  }
}

/**
 * Asks the stores which of their settings can lose acknowledged changes. Stores that do not respond are reported
 * elsewhere.
 */
export async function checkDurability({ config, runtime }: Patient): Promise<Finding[]> {
  const options = { runtime, credentials: credentialsOf(config) };
  const answers = await Promise.all(
    storesInUse(config).map((url) => within(LIMIT_MS, findingsOf(url, options)).catch(() => null)),
  );
  const findings = answers.flatMap((found) => found ?? []);
  if (findings.length > 0 || answers.includes(null)) return findings;
  return [ok('no store setting is known to lose acknowledged writes')];
}

/** Returns the URLs of the stores that the services use. */
function storesInUse({ METADATA_URL, BLOBS_URL, SERVICES }: DurabilityOptions['config']): string[] {
  return SERVICES.includes('image') ? [METADATA_URL, BLOBS_URL] : [METADATA_URL];
}

async function examineStores(
  { config, runtime }: Patient,
  shown: string,
  advice: string,
  work: (stores: Stores) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    const access = { runtime, credentials: credentialsOf(config) };
    const stores = await within(LIMIT_MS, openStores(config.METADATA_URL, config.BLOBS_URL, access));
    try {
      return await within(LIMIT_MS, work(stores));
    } finally {
      await stores.close();
    }
  } catch (error) {
    return [fail(`${shown}: ${withCause(error)}`, isStorageFull(error) ? MORE_SPACE : advice)];
  }
}

async function toBeMade(path: string, shown: string, advice: string): Promise<Finding> {
  return (await mayBeMade(dirname(path)))
    ? ok(`${shown} (created by the server)`)
    : fail(`${shown} cannot be created`, advice);
}

/** Returns the path if nothing exists there, otherwise `null`. */
async function missingPath(path: string | null): Promise<string | null> {
  if (path === null) return null;
  return stat(path).then(
    () => null,
    (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? path : null),
  );
}
