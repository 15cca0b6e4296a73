import { rmSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { isSameStore, openStores, type Stores } from '../../adapters/open.ts';
import { FILE_SCHEMES, RECORD_SCHEMES, recordsAdapter } from '../../adapters/registry.ts';
import { parseConfig } from '../config.ts';
import { url } from '../config-values.ts';
import { AppError } from '../errors.ts';
import { EPOCH_BLOB, EPOCH_STATE } from '../image/maintenance/epoch.ts';
import { writeNote } from '../image/maintenance/note.ts';
import { IDENTITY_STATE, readMark, writeMark } from '../image/maintenance/store-identity.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { countOf, formatCount, readableBytes } from '../lib/format.ts';
import { isRunning } from '../lib/is-running.ts';
import { masked } from '../lib/masked.ts';
import { credentialsOf } from '../start/credentials.ts';
import { temporaryFolder } from '../start/data-folder.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { CommandError, EXIT, type ExitCode, usageError } from './exit.ts';
import {
  compareImages,
  copyImages,
  copyReviewed,
  type ImageTarget,
  removeDeleted,
} from './migrate-images.ts';
import { copyAlbums, copyProxies, copyState } from './migrate-records.ts';
import { flag, value } from './options.ts';
import { createProgress } from './progress.ts';
import { requireDatabase } from './stores.ts';
import type { Terminal } from './terminal.ts';

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Copies all records, images and secrets to other stores, and leaves the old ones unchanged. What has already
been copied is skipped, so an interrupted copy is continued by the same command. The server can keep running
while most is copied. Then stop it and run the command once more: that also copies what changed and removes
what was deleted within the last hour; then start the server with METADATA_URL and BLOBS_URL set to the new
stores. Each image is compared with its SHA-256 when it is read, and again when it is read back from the new
store. Proxies get new IDs; smaller versions of images are made again on request; links of images that have
expired return 404 instead of 410. Credentials for S3 are those of the server.
Exit code 0: everything is copied; 1: something is missing, and standard error says what.

  picpool migrate --to-metadata redis://db:6379 --to-blobs 's3://bucket?endpoint=https://s3.example'`,
  options: {
    'from-metadata': value('URL', url(undefined, RECORD_SCHEMES, 'Records to copy. [METADATA_URL]')),
    'from-blobs': value('URL', url(undefined, FILE_SCHEMES, 'Image files to copy. [BLOBS_URL]')),
    'to-metadata': value(
      'URL',
      url(undefined, RECORD_SCHEMES, 'Where records go; without it, they stay where they are.'),
    ),
    'to-blobs': value(
      'URL',
      url(undefined, FILE_SCHEMES, 'Where image files go; without it, they stay where they are.'),
    ),
    verify: flag('Also compares the SHA-256 of files that are already there, and copies those that differ.'),
  },

  async run({ options, env, runtime, terminal }) {
    const config = parseConfig(env);
    const from = {
      metadata: options['from-metadata'] ?? config.METADATA_URL,
      blobs: options['from-blobs'] ?? config.BLOBS_URL,
    };
    const to = { metadata: options['to-metadata'], blobs: options['to-blobs'] };
    if (to.metadata === undefined && to.blobs === undefined) {
      throw usageError('Give --to-metadata, --to-blobs, or both.');
    }
    for (const part of ['metadata', 'blobs'] as const) {
      if (to[part] !== undefined && (await isSameStore(from[part], to[part]))) {
        throw usageError('The new stores must differ from the old ones.');
      }
    }
    const credentials = credentialsOf(config);
    const open = (metadata: string, blobs: string) => openStores(metadata, blobs, { runtime, credentials });
    const opened: Stores[] = [];
    try {
      await requireDatabase(from.metadata);
      await makeFolder(to.metadata);
      const source = await open(from.metadata, from.blobs);
      opened.push(source);
      const other = await open(to.metadata ?? 'sqlite::memory:', to.blobs ?? from.blobs);
      opened.push(other);
      const target = {
        metadata: to.metadata === undefined ? null : other,
        blobs: to.blobs === undefined ? null : other.blobs,
      };
      for (const [old, next] of [
        [from.metadata, to.metadata],
        [from.blobs, to.blobs],
      ]) {
        if (next !== undefined) terminal.say(`${masked('URL', old ?? '')} -> ${masked('URL', next)}`);
      }
      return await withWorkFolder(config.DATA_DIR, (folder) =>
        copyAll(source, target, { verify: options.verify, folder, terminal }),
      );
    } finally {
      await Promise.all(opened.map((stores) => stores.close()));
    }
  },
});

/** Copies everything, and reports what was done. */
async function copyAll(
  source: Stores,
  target: { metadata: Stores | null; blobs: Stores['blobs'] | null },
  { verify, folder, terminal }: { verify: boolean; folder: string; terminal: Terminal },
): Promise<ExitCode> {
  await claim(source, target, folder);
  const now = () => performance.now();
  const faults: string[] = [];
  const done: string[] = [];

  const { images: total } = await source.images.summary();
  const progress = createProgress(terminal, 'images', now);
  const images = await copyImages(source, target, { verify, folder }, (copied, bytes) =>
    progress.update({ done: copied, total, note: readableBytes(bytes) }),
  );
  progress.end();
  faults.push(...images.faults);
  done.push(
    `${countOf(images.seen, 'image')} (${formatCount(images.copied)} copied now, ${readableBytes(images.bytes)})`,
  );

  const reviewed = await copyReviewed(
    source,
    { state: target.metadata?.state ?? null, blobs: target.blobs },
    { verify, folder },
  );
  faults.push(...reviewed.faults);
  if (reviewed.seen > 0) done.push(`${countOf(reviewed.seen, 'image')} in review`);

  if (target.metadata !== null) {
    const pool = await askPatiently(source.proxies.summary, systemClock);
    await askPatiently(target.metadata.proxies.summary, systemClock);
    const shown = createProgress(terminal, 'proxies', now);
    const proxies = await copyProxies(source.proxies, target.metadata.proxies, (copied) =>
      shown.update({ done: copied, total: pool.total }),
    );
    shown.end();
    done.push(countOf(proxies, 'proxy', 'proxies'));
    const deleted = await removeDeleted(source, { metadata: target.metadata, blobs: target.blobs });
    if (deleted > 0) done.push(`${countOf(deleted, 'image')} removed, deleted since`);
    const albums = await copyAlbums(source.albums, target.metadata);
    if (albums > 0) done.push(countOf(albums, 'album'));
    done.push(countOf(await copyState(source.state, target.metadata.state), 'other value'));
    faults.push(...(await compareCounts(source, target.metadata)));
    faults.push(...(await compareImages(source, target.metadata)));
  }
  await bringToEpoch(source, target, folder);
  for (const fault of faults) terminal.say(`picpool: ${fault}`);
  if (faults.length > 0) {
    terminal.say(
      `${countOf(faults.length, 'fault')}. What has been copied stays; run the same command to continue.`,
    );
    return EXIT.failed;
  }
  await terminal.print(`${done.join(', ')}: all there\n`);
  return EXIT.done;
}

/** Creates the folder of a database, because opening one does not. */
async function makeFolder(metadata: string | undefined): Promise<void> {
  const path = metadata === undefined ? null : recordsAdapter(metadata).path(metadata);
  if (path !== null) await mkdir(dirname(path), { recursive: true, mode: 0o700 });
}

async function compareCounts(source: Stores, target: Stores): Promise<string[]> {
  const [images, proxies] = [
    [await source.images.summary(), await target.images.summary()] as const,
    [await source.proxies.summary(), await target.proxies.summary()] as const,
  ];
  const counts: [what: string, old: number, now: number][] = [
    ['images', images[0].images, images[1].images],
    ['protected images', images[0].protected, images[1].protected],
    ['bytes of images', images[0].bytes, images[1].bytes],
    ['proxies', proxies[0].total, proxies[1].total],
  ];
  return counts
    .filter(([, old, now]) => now < old)
    .map(([what, old, now]) => `${formatCount(now)} of ${formatCount(old)} ${what} are in the new store`);
}

const NAME = /^picpool-migrate-(\d+)$/;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Runs the work with a folder for temporary files, which is removed afterwards, even if a signal ends the program.
 * What `kill -9` leaves is removed by the next run, or by the sweep of a server with that `DATA_DIR`.
 */
async function withWorkFolder<T>(dataDir: string, work: (folder: string) => Promise<T>): Promise<T> {
  const hasData = await stat(dataDir).catch(() => null);
  const parent = hasData ? temporaryFolder({ DATA_DIR: dataDir }) : tmpdir();
  await removeLeftovers(parent);
  const folder = join(parent, `picpool-migrate-${process.pid}`);
  const end = () => {
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  };
  for (const signal of SIGNALS) process.once(signal, end);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return await work(folder);
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
    await rm(folder, { recursive: true, force: true });
  }
}

async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const [, pid] = NAME.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(parent, name), { recursive: true, force: true });
  }
}

/**
 * Marks the new stores as those of this installation before anything else, so that an interrupted copy is recognised.
 * Takes over stores that were started once and hold no images. `folder`: for a temporary file.
 * @throws {CommandError} if they belong to another installation.
 */
export async function claim(
  from: Pick<Stores, 'state' | 'blobs'>,
  to: MigrationTarget,
  folder: string,
): Promise<void> {
  const id = (await from.state.get(IDENTITY_STATE)) ?? (await readMark(from.blobs));
  const known = to.metadata && (await to.metadata.state.get(IDENTITY_STATE));
  const marked = to.blobs && (await readMark(to.blobs));
  const isEmpty = to.metadata !== null && (await to.metadata.images.summary()).images === 0;
  const isFree = (mark: string | null) => mark === null || mark === id || (isEmpty && known === mark);
  if (!isFree(known) || !isFree(marked)) {
    throw new CommandError('The new stores already hold the images of another installation.');
  }
  if (id === null) return;
  if (to.metadata) await to.metadata.state.set(IDENTITY_STATE, id);
  if (to.blobs && marked !== id) await writeMark(to.blobs, folder, id);
}

/**
 * Advances the new files to the epoch of their records. Call it when everything is copied: from then on neither is
 * older than the other. `folder`: for a temporary file.
 */
async function bringToEpoch(from: Pick<Stores, 'state'>, to: MigrationTarget, folder: string): Promise<void> {
  const { blobs } = to;
  if (blobs === null) return;
  const epoch = await (to.metadata ?? from).state.get(EPOCH_STATE);
  if (epoch !== null) await writeNote(blobs, folder, EPOCH_BLOB, epoch);
}

/** Where everything is copied to; `null`: that part stays where it is. */
interface MigrationTarget extends ImageTarget {
  metadata: Pick<Stores, 'images' | 'state'> | null;
}

const MOST_TRIES = 60;

/**
 * Asks again for as long as the answer is to try later: a command can wait until a large pool has been read, clients of
 * a server cannot.
 */
export async function askPatiently<T>(ask: () => Promise<T>, clock: Pick<Clock, 'sleep'>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      const pauseMs = error instanceof AppError ? error.retryAfterMs : undefined;
      if (pauseMs === undefined || tries === MOST_TRIES) throw error;
      await clock.sleep(pauseMs);
    }
  }
}
