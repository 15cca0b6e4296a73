import { randomUUID } from 'node:crypto';
import { access, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openStores, risksOf, type Stores } from '../../adapters/open.ts';
import { filesAdapter, recordsAdapter } from '../../adapters/registry.ts';
import { createDoubts } from '../image/maintenance/doubts.ts';
import { IDENTITY_STATE, readMark } from '../image/maintenance/store-identity.ts';
import { within } from '../lib/deadline.ts';
import { credentialsOf } from '../start/credentials.ts';
import { storesInUse } from '../start/risks.ts';
import type { Finding, Patient } from './doctor-finding.ts';
import { mayBeMade, withFolder } from './doctor-system.ts';
import { EXIT, type ExitCode, usageError, withCause } from './exit.ts';
import { countOf, formatCount } from './format.ts';
import { masked } from './masked.ts';
import type { Terminal } from './terminal.ts';

const LIMIT_MS = 15_000;
/** Ten million records on Postgres take seconds to count, and a cold disk makes that minutes. */
const COMPARE_LIMIT_MS = 120_000;

const STATE = { broken: 'fail', loss: 'warn', unknown: 'warn' } as const;

/** Opens the store of the records, reads the statistics and writes a note. Never creates a database. */
export async function checkRecords(patient: Patient): Promise<Finding[]> {
  const url = patient.config.METADATA_URL;
  const shown = masked('METADATA_URL', url);
  const { path, advice } = recordsAdapter(url);
  const missing = await missingPath(path(url));
  if (missing !== null) return [await toBeMade(missing, shown, advice)];
  return examineStores(patient, shown, advice, async ({ state, proxies, images, condition }) => {
    await state.set('doctor', new Date().toISOString());
    const [pool, host] = [await proxies.summary(), await images.summary()];
    const text = `${shown}, ${countOf(pool.total, 'proxy', 'proxies')}, ${countOf(host.images, 'image')}`;
    const unreadable = Object.values(condition().unreadable).reduce((sum, count) => sum + count, 0);
    if (unreadable === 0) return [{ state: 'ok', text }];
    const found = `${text}, ${countOf(unreadable, 'record')} cannot be read`;
    const advice =
      "A newer picpool wrote them, or they are damaged. They are skipped; the server's log names them.";
    return [{ state: 'warn', text: found, advice }];
  });
}

/** Stores a small file, reads it and removes it. Never creates the data folder. */
export async function checkBlobs(patient: Patient): Promise<Finding[]> {
  const { BLOBS_URL: url } = patient.config;
  const shown = masked('BLOBS_URL', url);
  const { path, advice } = filesAdapter(url);
  const missing = await missingPath(path(url));
  if (missing !== null) return [await toBeMade(missing, shown, advice)];
  const memory = { ...patient, config: { ...patient.config, METADATA_URL: 'sqlite::memory:' } };
  return examineStores(memory, shown, advice, async ({ blobs }) => {
    const key = `doctor-${randomUUID()}.txt`;
    await withFolder(patient.config, async (folder) => {
      const path = join(folder, 'note');
      await writeFile(path, key);
      await blobs.put(key, path, 'text/plain');
    });
    const body = await blobs.get(key);
    const text = body === null ? null : await new Response(body).text();
    await blobs.remove(key);
    if (text !== key) throw new Error('what was stored cannot be read back');
    return [{ state: 'ok', text: shown }];
  });
}

const PAIR_ADVICE =
  'Until this is fixed, no file is removed. Restore what was lost; if nothing is missing, picpool sweep says what to do.';

/**
 * Checks that records and files belong together. Before the first start there is nothing to compare, and stores that
 * cannot be opened were reported before.
 */
export async function checkPair({ config, runtime }: Patient): Promise<Finding[]> {
  const { METADATA_URL, BLOBS_URL } = config;
  const paths = [recordsAdapter(METADATA_URL).path(METADATA_URL), filesAdapter(BLOBS_URL).path(BLOBS_URL)];
  const missing = await Promise.all(paths.map(missingPath));
  if (missing.some((path) => path !== null)) return [];
  const access = { runtime, credentials: credentialsOf(config) };
  const stores = await within(LIMIT_MS, openStores(METADATA_URL, BLOBS_URL, access)).catch(() => null);
  if (stores === null) return [];
  return within(COMPARE_LIMIT_MS, compare(stores)).finally(() => stores.close());
}

async function compare(stores: Stores): Promise<Finding[]> {
  const marks = [await stores.state.get(IDENTITY_STATE), await readMark(stores.blobs)];
  const { images } = await stores.images.summary();
  if (images === 0 && marks.every((mark) => mark === null)) return [];
  const reasons = await createDoubts({ ...stores, now: Date.now, log: () => {} }).look();
  if (reasons.length === 0) return [{ state: 'ok', text: 'they belong together' }];
  return reasons.map((text) => ({ state: 'fail', text, advice: PAIR_ADVICE }));
}

/**
 * Asks the stores which of their settings can lose acknowledged changes. Stores that do not respond were reported
 * before.
 */
export async function checkRisks({ config, runtime }: Patient): Promise<Finding[]> {
  const options = { runtime, credentials: credentialsOf(config) };
  const answers = await Promise.all(
    storesInUse(config).map((url) => within(LIMIT_MS, risksOf(url, options)).catch(() => null)),
  );
  const findings = answers.flatMap((risks) =>
    (risks ?? []).map(({ kind, text, advice }): Finding => ({ state: STATE[kind], text, advice })),
  );
  if (findings.length > 0 || answers.includes(null)) return findings;
  return [{ state: 'ok', text: 'no store setting is known to lose acknowledged writes' }];
}

/** Repairs the store of the records, and reports the result. */
export async function repair({ config, runtime }: Patient, terminal: Terminal): Promise<ExitCode> {
  const adapter = recordsAdapter(config.METADATA_URL);
  if (!adapter.repair || adapter.path(config.METADATA_URL) === null) {
    throw usageError('Only a database file can be repaired.');
  }
  const { rows, torn, kept } = await adapter.repair(config.METADATA_URL, { runtime });
  const counts = Object.entries(rows).map(([name, count]) => `${name} ${formatCount(count)}`);
  await terminal.print(`read: ${counts.join(', ')}\nthe damaged file is ${kept}\n`);
  if (torn.length > 0) terminal.say(`Could not be read completely: ${torn.join(', ')}.`);
  return EXIT.done;
}

async function examineStores(
  { config, runtime }: Patient,
  shown: string,
  advice: string,
  work: (stores: Stores) => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    const stores = await within(
      LIMIT_MS,
      openStores(config.METADATA_URL, config.BLOBS_URL, {
        runtime,
        credentials: credentialsOf(config),
      }),
    );
    try {
      return await within(LIMIT_MS, work(stores));
    } finally {
      await stores.close();
    }
  } catch (error) {
    return [{ state: 'fail', text: `${shown}: ${withCause(error)}`, advice }];
  }
}

async function toBeMade(path: string, shown: string, advice: string): Promise<Finding> {
  return (await mayBeMade(dirname(path)))
    ? { state: 'ok', text: `${shown} (created by the server)` }
    : { state: 'fail', text: `${shown} cannot be created`, advice };
}

/** Returns the path if nothing exists there, otherwise `null`. */
async function missingPath(path: string | null): Promise<string | null> {
  if (path === null) return null;
  return access(path).then(
    () => null,
    (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? path : null),
  );
}
