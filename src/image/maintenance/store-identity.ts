import { randomUUID } from 'node:crypto';
import { AppError, inEnglish } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/logger.ts';
import type { StateStore } from '../../lib/state.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import { beginEpochs } from './epoch.ts';
import { hasMoreThan } from './files.ts';
import { FILES_MISSING, latestFiles } from './missing-files.ts';
import { readNote, writeNote } from './note.ts';

/** Name of the value, and of the blob, that say which records and files belong together. */
export const IDENTITY_STATE = 'image-files-id';
export const IDENTITY_BLOB = 'picpool-files-id';

/** How long copies that start together wait for the first of them to write the mark, in ms. */
const PATIENCE_MS = 2000;
const POLL_MS = 200;
/** Pause if a store does not answer, in ms. */
const RETRY_MS = 2000;

interface StoreIdentityOptions {
  state: StateStore;
  blobs: BlobStore;
  images: Pick<ImageStore, 'recent'>;
  /** For temporary files. */
  folder: string;
  /** Whether the URLs of records and files may also be used by other copies and installations. */
  shared: { records: boolean; files: boolean };
  clock: Pick<Clock, 'sleep'>;
  log: Log;
}

/**
 * Makes sure that files and records belong together, so that no cleanup treats another installation's files as its
 * own leftovers, and no copy stores files that the others cannot see. Both carry the same ID, which the first start
 * assigns. Returns false if the result is unknown, because a store does not answer, or all files are missing; `pairLater`
 * then continues.
 * @throws {AppError} `conflict` with a message for the operator.
 */
export async function pairStores(options: StoreIdentityOptions): Promise<boolean> {
  const cause = await tryToPair(options);
  if (cause) options.log('warn', 'cannot tell whether the image files belong to the records', { cause });
  return cause === null;
}

/**
 * Does the same as `pairStores` as soon as both stores answer and the files are there, unless the signal aborts. A conflict is logged, and
 * keeps anything from being removed, because `createDoubts` also sees it.
 */
export async function pairLater(options: StoreIdentityOptions, signal: AbortSignal): Promise<void> {
  try {
    do await options.clock.sleep(RETRY_MS, signal);
    while (await tryToPair(options));
    options.log('info', 'the image files belong to the records');
  } catch (cause) {
    if (!signal.aborted) options.log('error', 'the image files do not belong to the records', { cause });
  }
}

/** Resolves with the reason why the result is unknown, or with `null` if it is known. */
async function tryToPair(options: StoreIdentityOptions): Promise<AppError | null> {
  try {
    if (await pair(options)) await beginEpochs(options, options.folder);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'unavailable') return error;
    throw error;
  }
}

/** Returns false if it remains in doubt, which `createDoubts` then reports. */
async function pair(options: StoreIdentityOptions): Promise<boolean> {
  const { state, shared, clock } = options;
  const marked = await readMark(options.blobs);
  const known = await state.get(IDENTITY_STATE);
  // If records are new or lost, the files must not become leftovers. On one machine this may be a fresh start.
  if (marked !== null && known === null) {
    if (shared.records || shared.files) throw foreign();
    if (await hasMoreThan(0, options.blobs)) return false;
  }
  const found = marked === null ? await latestFiles(options) : 'there';
  /** Files without a mark then mean that the marked ones are on another machine, rather than moved. */
  const mayBeElsewhere = shared.records && !shared.files;
  // A new mark would make an empty folder theirs, in which new images are lost once the right disk is mounted again.
  if (found === 'missing' && (known === null || !mayBeElsewhere)) {
    throw new AppError('unavailable', inEnglish(FILES_MISSING));
  }
  const proposed = marked ?? randomUUID();
  const id = await state.getOrSet(IDENTITY_STATE, proposed);
  if (marked === id) return true;
  if (marked !== null) throw foreign();
  if (id === proposed || !mayBeElsewhere || found === 'there') {
    await writeMark(options.blobs, options.folder, id);
    return true;
  }
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += POLL_MS) {
    await clock.sleep(POLL_MS);
    if ((await readMark(options.blobs)) === id) return true;
  }
  throw elsewhere();
}

/** Returns which records the files belong to, or `null` if there is no mark. */
export function readMark(blobs: Pick<BlobStore, 'get'>): Promise<string | null> {
  return readNote(blobs, IDENTITY_BLOB);
}

/** Marks which records the files belong to. `folder`: for a temporary file. */
export function writeMark(blobs: Pick<BlobStore, 'put'>, folder: string, id: string): Promise<void> {
  return writeNote(blobs, folder, IDENTITY_BLOB, id);
}

/** Pairs the stores as they are, for an operator who knows that they belong together. */
export async function agreeOnIdentity(
  { state, blobs }: { state: Pick<StateStore, 'set'>; blobs: Pick<BlobStore, 'get' | 'put'> },
  folder: string,
): Promise<void> {
  const id = (await readMark(blobs)) ?? randomUUID();
  await writeMark(blobs, folder, id);
  await state.set(IDENTITY_STATE, id);
}

function foreign(): AppError {
  return new AppError(
    'conflict',
    inEnglish(
      `The files at BLOBS_URL belong to other records than those at METADATA_URL, and a cleanup would delete them. Use a separate folder, bucket or prefix. To use the files with these records, delete ${IDENTITY_BLOB} from the files.`,
    ),
  );
}

function elsewhere(): AppError {
  return new AppError(
    'conflict',
    inEnglish(
      `The records at METADATA_URL belong to files in a different folder than BLOBS_URL names here. Copies on several machines need BLOBS_URL=s3:... or one shared folder. After a move, bring all files including ${IDENTITY_BLOB}; if they are lost, delete the value ${IDENTITY_STATE} from the records.`,
    ),
  );
}
