import { mkdtemp, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type CodecStats, createCodec } from '../codec/codec.ts';
import { PARTS, sandboxState } from '../codec/sandbox/report.ts';
import { capacityOf, describeCapacity } from '../codec/workers/capacity.ts';
import type { Config, Environment } from '../config.ts';
import { inEnglish } from '../errors.ts';
import { within } from '../lib/deadline.ts';
import { formatCount, readableBytes } from '../lib/format.ts';
import { affordableSockets, lowFileLimit } from '../lib/open-files.ts';
import { freeBytesOf, isStorageFull, storageFull } from '../lib/storage-full.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { localFolders } from '../start/data-folder.ts';
import { socketPath } from '../start/listen.ts';
import { type Finding, fail, failed, isHidden, ok, warn } from './finding.ts';

/** What is examined: a server with these settings on this machine. */
export interface Patient {
  config: Config;
  env: Environment;
  runtime: Runtime;
}

const CONVERT_LIMIT_MS = 15_000;
const TRIAL = 'picpool-doctor-';
const CLOSED_FOLDER = "Make the server's user its owner (chown), or set DATA_DIR to another folder.";
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==';

/** Checks that the server could listen on its port. */
export async function checkPort({ config: { HOST, PORT } }: Patient): Promise<Finding[]> {
  const path = socketPath(HOST);
  if (path !== null) return checkSocket(path);
  const server = createServer();
  const code = await new Promise<string | null>((done) => {
    server.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    server.listen(PORT, HOST, () => server.close(() => done(null)));
  });
  if (code === null) return [ok(`${HOST} port ${PORT} is free`)];
  if (code === 'EADDRINUSE') {
    const advice =
      'Fine if that is picpool itself, which picpool health shows. Otherwise, choose another PORT.';
    return [warn(`${HOST} port ${PORT} is taken`, advice)];
  }
  const advice =
    code === 'EACCES'
      ? 'Ports below 1024 are reserved for root; choose a higher PORT.'
      : 'Set HOST to an address of this machine.';
  return [fail(`cannot listen on ${HOST} port ${PORT} (${code})`, advice)];
}

async function checkSocket(path: string): Promise<Finding[]> {
  if (await mayBeMade(dirname(path))) return [ok(`a socket can be created at ${path}`)];
  return [fail(`${dirname(path)} is not writable`, "Make the server's user its owner.")];
}

/** Checks that the data folder is writable, and how much space is left. */
export async function checkFolder({ config }: Patient): Promise<Finding[]> {
  const folder = resolve(config.DATA_DIR);
  const standing = await nearestStanding(folder);
  if (!(await mayBeMade(folder))) {
    return [fail(`${standing} is not writable`, CLOSED_FOLDER)];
  }
  const [free, { dev }] = await Promise.all([freeBytesOf(standing), stat(standing)]);
  const room = Number.isFinite(free) ? `, ${readableBytes(free)} free` : '';
  const text = `${folder}${standing === folder ? '' : ' (created at the first start)'}${room}`;
  const least = config.SERVICES.includes('image') ? config.IMAGE_MIN_FREE : 0;
  const advice = `Uploads are refused below IMAGE_MIN_FREE (${readableBytes(config.IMAGE_MIN_FREE)}); free some space.`;
  const others: Finding[] = [];
  for (const other of least > 0 ? localFolders(config) : []) {
    const place = await nearestStanding(other);
    if ((await stat(place)).dev === dev) continue;
    const left = await freeBytesOf(place).catch(() => least);
    if (left < least) others.push(fail(`${other}, ${readableBytes(left)} free`, advice));
  }
  return [free >= least ? ok(text) : fail(text, advice), ...others];
}

/** Reports whether a missing folder could be created. */
export async function mayBeMade(folder: string): Promise<boolean> {
  return isWritable(await nearestStanding(folder));
}

/** Tries it: on Deno, `access` ends the process without one more permission, and knows neither groups nor read-only disks. */
export function isWritable(folder: string): Promise<boolean> {
  return succeeds(mkdtemp(join(folder, TRIAL)).then(rmdir), 'ENOSPC');
}

async function nearestStanding(folder: string): Promise<string> {
  return folder === dirname(folder) || (await has(folder)) ? folder : nearestStanding(dirname(folder));
}

/** Reports whether that exists. */
export function has(path: string): Promise<boolean> {
  return succeeds(stat(path));
}

/** Reports whether it succeeds, or fails for that reason alone. Rejects if Deno's permissions hide the answer. */
function succeeds(work: Promise<unknown>, harmless = ''): Promise<boolean> {
  return work.then(
    () => true,
    (error: NodeJS.ErrnoException) => (isHidden(error) ? Promise.reject(error) : error.code === harmless),
  );
}

/** Checks that as many checks as configured can run at once. */
export async function checkOpenFiles({ config }: Patient): Promise<Finding[]> {
  const low = await lowFileLimit();
  if (low !== null) {
    const advice = 'Allow 65536 (ulimit -n, LimitNOFILE=): a few hundred idle connections take the rest.';
    return [warn(`only ${formatCount(low)} files and sockets at once`, advice)];
  }
  const wanted = config.PROXY_CHECK_CONCURRENCY;
  const possible = await affordableSockets(wanted);
  const text = `${formatCount(possible)} of ${formatCount(wanted)} checks at once`;
  if (possible === wanted) return [ok(text)];
  const advice = `Allow twice that and 200 (ulimit -n, LimitNOFILE=), or lower PROXY_CHECK_CONCURRENCY.`;
  return [warn(`only ${text}`, advice)];
}

/** Converts one pixel in a separate process, as the server does. */
export async function checkConversion(patient: Patient): Promise<Finding[]> {
  try {
    return await withFolder(patient.config, (folder) => convertPixel(patient, folder));
  } catch (error) {
    const isClosed = error instanceof Error && 'syscall' in error && error.syscall === 'mkdtemp';
    const installed =
      'Is sharp installed for this machine (bun install)? Running picpool convert-worker shows more.';
    const advice = isStorageFull(error) ? 'Free some space.' : isClosed ? CLOSED_FOLDER : installed;
    return [failed(error, advice)];
  }
}

async function convertPixel({ config, env, runtime }: Patient, folder: string): Promise<Finding[]> {
  const codec = createCodec({
    folder: join(folder, 'work'),
    // Where a part is unavailable, `require` would not say which.
    sandbox: config.IMAGE_SANDBOX === 'require' ? 'on' : config.IMAGE_SANDBOX,
    command: runtime.selfCommand(),
    env,
    workers: 1,
    timeoutMs: config.IMAGE_CONVERT_TIMEOUT,
    maxPixels: 1000,
    maxFrames: 1,
    heic: config.IMAGE_HEIC,
    memoryLimitBytes: config.IMAGE_WORKER_MEMORY,
    log: () => {},
    now: () => performance.now(),
  });
  try {
    const [input, output] = [join(folder, 'in.png'), join(folder, 'out.webp')];
    await writeFile(input, Buffer.from(PIXEL, 'base64'));
    const job = { input, output, format: 'webp', stripExif: true, maxWidth: 1, maxHeight: 1 } as const;
    await within(CONVERT_LIMIT_MS, codec.convert(job, { client: 'doctor' }));
    return [ok('a PNG became a WebP'), memoryFinding(config), sandboxFinding(config, codec.stats())];
  } finally {
    await codec.close();
  }
}

function memoryFinding({ IMAGE_WORKERS }: Config): Finding {
  const capacity = capacityOf(IMAGE_WORKERS);
  const text = `memory: ${describeCapacity(capacity)}`;
  if (!capacity.tight) return ok(text);
  const advice =
    'Large pictures can run out of memory and get 503. Give the server 300 MB, and 600 MB for each conversion at a time.';
  return warn(text, advice);
}

function sandboxFinding({ IMAGE_SANDBOX }: Config, { missing }: CodecStats): Finding {
  const { state, text } = sandboxState(missing);
  if (state === 'full') return ok('sandbox: full');
  const needed = Object.entries(PARTS).flatMap(([part, means]) => (missing?.includes(part) ? means : []));
  const advice =
    IMAGE_SANDBOX === 'off'
      ? 'A bug in a decoder could read data and keys; set IMAGE_SANDBOX=on.'
      : `A bug in a decoder could do more than it should. This needs ${[...new Set(needed)].join('; ') || 'Linux'}.`;
  return (IMAGE_SANDBOX === 'require' ? fail : warn)(`sandbox: ${text}`, advice);
}

/**
 * Creates a folder inside the data folder, because no other has to be writable. Before the first start there is none.
 */
export async function withFolder<T>({ DATA_DIR }: Config, work: (folder: string) => Promise<T>): Promise<T> {
  const data = resolve(DATA_DIR);
  const parent = (await has(data)) ? data : tmpdir();
  const folder = await mkdtemp(join(parent, TRIAL));
  try {
    return await work(folder);
  } catch (error) {
    throw storageFull(error, inEnglish(`There is no space left in ${parent}.`));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
