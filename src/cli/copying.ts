import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { mkdir, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Stores } from '../../adapters/open.ts';
import { AppError, inEnglish } from '../errors.ts';
import { EPOCH_BLOB, EPOCH_STATE } from '../image/maintenance/epoch.ts';
import { readNote, writeNote } from '../image/maintenance/note.ts';
import { IDENTITY_STATE, readMark, writeMark } from '../image/maintenance/store-identity.ts';
import { removeLeftovers } from '../image/maintenance/sweep.ts';
import type { BlobStore } from '../image/store.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { countOf, formatCount, readableBytes } from '../lib/format.ts';
import { storageFull } from '../lib/storage-full.ts';
import { temporaryFolder } from '../start/data-folder.ts';
import { compareImages, copyImages, copyValues, type ImageTarget, removeDeleted } from './copy-images.ts';
import { copyAlbums, copyAudit, copyProxies, TRIAL } from './copy-records.ts';
import { CommandError, EXIT, type ExitCode, noAccess } from './exit.ts';
import { createProgress } from './progress.ts';
import { endingSignals } from './signals.ts';
import type { Terminal } from './terminal.ts';

interface CopyOptions {
  /** Compares the SHA-256 of files that are already there. */
  verify: boolean;
  /** For a backup: the records there are new, and the old ones change meanwhile, so they are not compared at the end. */
  live?: boolean;
  /** For temporary files. */
  folder: string;
  terminal: Terminal;
}

interface Copied {
  /** What there is now, such as `12 images (3 copied now, 1.2 MB)`. */
  done: string[];
  /** As sentences. */
  faults: string[];
  /** As sentences: what the old stores have lost, so that nothing is wrong with the copy. */
  lost: string[];
  /** Number of images that have their files. */
  intact: number;
}

/** Copies everything. */
export async function copyAll(
  source: Stores,
  target: { metadata: Stores | null; blobs: Stores['blobs'] | null },
  { verify, live = false, folder, terminal }: CopyOptions,
): Promise<Copied> {
  await claim(source, target, folder);
  const now = () => performance.now();
  const done: string[] = [];

  // First: what it says was done, such as that a token was revoked, is not repeated, so that the values must show it.
  const acts = target.metadata === null ? 0 : await copyAudit(source.audit, target.metadata.audit);
  const state = target.metadata?.state ?? null;
  const reviewed = await copyValues(source, { state, blobs: target.blobs }, { verify, live, folder });
  const { images: total } = await source.images.summary();
  const progress = createProgress(terminal, 'images', now);
  const images = await copyImages(source, target, { verify, live, folder }, (copied, bytes) =>
    progress.update({ done: copied, total, note: readableBytes(bytes) }),
  );
  progress.end();
  done.push(
    `${countOf(images.seen, 'image')} (${formatCount(images.copied)} copied now, ${readableBytes(images.bytes)})`,
  );

  const faults = [...images.faults, ...reviewed.faults];
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
    // Older backups share the files.
    const blobs = live ? null : target.blobs;
    const { removed, alone } = await removeDeleted(source, { metadata: target.metadata, blobs });
    if (removed > 0) done.push(`${countOf(removed, 'image')} removed, deleted since`);
    if (alone.length > 0 && !live)
      done.push(
        `${countOf(alone.length, 'image')} only there, new or deleted here long ago (${alone.join(' ')})`,
      );
    const albums = await copyAlbums(source.albums, target.metadata);
    if (albums > 0) done.push(countOf(albums, 'album'));
    if (acts > 0) done.push(countOf(acts, 'act'));
    done.push(countOf(reviewed.values, 'other value'));
    if (!live) {
      const { total } = await target.metadata.proxies.summary();
      if (total < proxies) faults.push(`${total} of ${proxies} proxies are in the new store`);
      faults.push(...(await compareImages(source, target.metadata)));
    }
  }
  await bringToEpoch(source, target, folder);
  const unreadable = Object.values(source.condition().unreadable).reduce((sum, count) => sum + count, 0);
  if (unreadable > 0)
    faults.push(
      `${countOf(unreadable, 'record')} cannot be read: a newer picpool wrote them, or they are damaged`,
    );
  const lost = [...images.lost, ...reviewed.lost];
  return { done, faults, lost, intact: images.seen + reviewed.seen - lost.length };
}

/** Further faults are only counted. */
const MOST_NAMED = 100;

/** Reports what was copied. `advice`: what to do about faults. */
export async function conclude(
  { done, faults, lost }: Copied,
  { said, advice, terminal }: { said: string; advice: string; terminal: Terminal },
): Promise<ExitCode> {
  for (const fault of [...faults, ...lost].slice(0, MOST_NAMED)) terminal.say(`picpool: ${fault}`);
  if (lost.length > 0) terminal.say(`The stores have lost the files of ${countOf(lost.length, 'image')}.`);
  if (faults.length > 0) {
    terminal.say(`${countOf(faults.length, 'fault')}. ${advice}`);
    return EXIT.failed;
  }
  await terminal.print(`${done.join(', ')}: ${said}\n`);
  return lost.length > 0 ? EXIT.lost : EXIT.done;
}

const WORK = 'picpool-migrate-';
/** Far less than the hour after which an untouched folder is removed. */
const TOUCH_MS = 60_000;

/**
 * Runs the work with a folder for temporary files, which is removed afterwards, even if a signal ends the program.
 * What `kill -9` leaves is removed an hour later, by the next run or by the sweep of a server with that `DATA_DIR`. Process
 * IDs do not tell whether anything still uses it, because containers may share the folder, but not the IDs.
 */
export async function withWorkFolder<T>(dataDir: string, work: (folder: string) => Promise<T>): Promise<T> {
  const hasData = await stat(dataDir).catch(() => null);
  const parent = hasData ? temporaryFolder({ DATA_DIR: dataDir }) : tmpdir();
  const folder = join(parent, WORK + randomUUID());
  const make = async () => {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    await removeLeftovers(parent, { now: Date.now(), prefix: WORK });
    // A thread would go on while a signal ends the program.
    mkdirSync(folder, { mode: 0o700 });
  };
  const touch = () => utimes(folder, new Date(), new Date()).catch(() => {});
  const touching = setInterval(touch, TOUCH_MS);
  const end = () => {
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  };
  const signals = endingSignals();
  for (const signal of signals) process.once(signal, end);
  try {
    await make().catch((error: NodeJS.ErrnoException) => {
      throw noAccess(parent, error);
    });
    return await work(folder);
  } catch (error) {
    throw storageFull(error, inEnglish(`There is no space left in ${parent}.`));
  } finally {
    clearInterval(touching);
    for (const signal of signals) process.off(signal, end);
    // The next run removes what this cannot.
    await rm(folder, { recursive: true, force: true }).catch(() => {});
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
    throw new CommandError('The target already holds the images of another installation. Name another one.');
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

/** A server beside a sweep may have died while it cleaned up: with a pause of a second, longer than its lock lasts. */
const MOST_TRIES = 70;

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

/** Reports whether both have the same files. That is tried, because one bucket has many names. */
export async function haveSameFiles(one: BlobStore, other: BlobStore, folder: string): Promise<boolean> {
  const mark = crypto.randomUUID();
  await writeNote(other, folder, TRIAL, mark);
  const found = await readNote(one, TRIAL).finally(() => other.remove(TRIAL));
  return found === mark;
}

/** Reports whether both have the same records. */
export async function haveSameRecords({ state: one }: Stores, { state: other }: Stores): Promise<boolean> {
  const mark = crypto.randomUUID();
  await other.set(TRIAL, mark);
  const found = await one.get(TRIAL).finally(() => other.remove(TRIAL));
  return found === mark;
}
