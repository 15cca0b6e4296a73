import { randomUUID } from 'node:crypto';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { openStores, type Stores } from '../../adapters/open.ts';
import { filesAdapter, recordsAdapter } from '../../adapters/registry.ts';
import type { Config } from '../config.ts';
import { createCodec } from '../image/codec/codec.ts';
import { PARTS, sandboxState } from '../image/codec/sandbox/report.ts';
import { within } from '../lib/deadline.ts';
import { credentialsOf } from '../start/credentials.ts';
import type { Finding, Patient } from './doctor-finding.ts';
import { mayBeMade } from './doctor-system.ts';
import { withCause } from './exit.ts';
import { countOf } from './format.ts';
import { masked } from './masked.ts';

const LIMIT_MS = 15_000;
/** One white pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==';

/** Opens the store of the records, reads the statistics and writes a note. Never creates a database. */
export async function checkRecords(patient: Patient): Promise<Finding[]> {
  const url = patient.config.METADATA_URL;
  const shown = masked('METADATA_URL', url);
  const { path, advice } = recordsAdapter(url);
  const missing = await missingPath(path(url));
  if (missing !== null) return [await toBeMade(missing, shown, advice)];
  return withStores(patient, shown, advice, async ({ state, proxies, images, condition }) => {
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
  return withStores(memory, shown, advice, async ({ blobs }) => {
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

/** Converts one pixel in a separate process, as the server does. */
export async function checkConversion(patient: Patient): Promise<Finding[]> {
  try {
    return await withFolder(patient.config, (folder) => convertPixel(patient, folder));
  } catch (error) {
    const advice =
      'Is sharp installed for this machine (bun install)? Running picpool convert-worker shows more.';
    return [{ state: 'fail', text: error instanceof Error ? error.message : String(error), advice }];
  }
}

async function convertPixel({ config, env, runtime }: Patient, folder: string): Promise<Finding[]> {
  const codec = createCodec({
    folder: join(folder, 'work'),
    sandbox: config.IMAGE_SANDBOX,
    command: runtime.selfCommand(),
    env,
    workers: 1,
    timeoutMs: config.IMAGE_CONVERT_TIMEOUT,
    maxPixels: 1000,
    maxFrames: 1,
    log: () => {},
    now: () => performance.now(),
  });
  try {
    const [input, output] = [join(folder, 'in.png'), join(folder, 'out.webp')];
    await writeFile(input, Buffer.from(PIXEL, 'base64'));
    const job = { input, output, format: 'webp', stripExif: true, maxWidth: 1, maxHeight: 1 } as const;
    await within(LIMIT_MS, codec.convert(job, { client: 'doctor' }));
    return [{ state: 'ok', text: 'a PNG became a WebP' }, sandboxFinding(config, codec.stats().missing)];
  } finally {
    await codec.close();
  }
}

function sandboxFinding({ IMAGE_SANDBOX }: Config, missing: readonly string[] | null): Finding {
  const { state, text } = sandboxState(missing);
  if (state === 'full') return { state: 'ok', text: 'sandbox: full' };
  const needed = Object.entries(PARTS).flatMap(([part, means]) => (missing?.includes(part) ? means : []));
  const advice =
    IMAGE_SANDBOX === 'off'
      ? 'A bug in a decoder could read data and keys; set IMAGE_SANDBOX=on.'
      : `A bug in a decoder could do more than it should. This needs ${[...new Set(needed)].join('; ') || 'Linux'}.`;
  return { state: 'warn', text: `sandbox: ${text}`, advice };
}

async function withStores(
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
export async function missingPath(path: string | null): Promise<string | null> {
  if (path === null) return null;
  return access(path).then(
    () => null,
    (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? path : null),
  );
}

/**
 * Creates a folder inside the data folder, because no other has to be writable. Before the first start there is none.
 */
async function withFolder<T>({ DATA_DIR }: Config, work: (folder: string) => Promise<T>): Promise<T> {
  const data = resolve(DATA_DIR);
  const parent = await access(data).then(
    () => data,
    () => tmpdir(),
  );
  const folder = await mkdtemp(join(parent, 'picpool-doctor-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
