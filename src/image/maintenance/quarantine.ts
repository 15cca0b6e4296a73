import { createHash } from 'node:crypto';
import { AppError } from '../../errors.ts';
import { slices } from '../../lib/batches.ts';
import type { Log } from '../../lib/logger.ts';
import type { StateStore } from '../../lib/state.ts';
import { strayKey } from '../records/blob-keys.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import type { Doubts } from './doubts.ts';
import type { ImageFile } from './files.ts';
import type { Survey } from './survey.ts';

/** The result of a sweep. */
export interface SweepReport {
  /** Removed files of deleted images, and files whose time in quarantine was over, and their bytes. */
  removed: number;
  freedBytes: number;
  /** Files without a record that were moved to quarantine, and their bytes. */
  quarantined: number;
  quarantinedBytes: number;
  /** Files in quarantine or in review that have a record, moved into place. */
  restored: number;
  /** Records whose file is missing, estimated from counts that may change meanwhile. */
  missing: number;
  versionBytes: number;
  /** Files without a record that were left alone, because there are too many for a mishap. */
  unconfirmed: number;
  /** False if it was stopped, or stopped itself because of a doubt. */
  complete: boolean;
  /** Token of the lease that it held. */
  token: number;
}

/** Files between two checks of records and marks. */
const BATCH = 20;
/** State key: what the last sweep has left in quarantine. */
export const STRAYS = 'image-strays';

/** Returns how many bytes the last sweep has left in quarantine. */
export async function readStrayBytes(state: Pick<StateStore, 'get'>): Promise<number> {
  const text = await state.get(STRAYS);
  return text === null ? 0 : (JSON.parse(text) as { bytes: number }).bytes;
}

interface QuarantineOptions {
  images: Pick<ImageStore, 'existing'>;
  blobs: Pick<BlobStore, 'get' | 'move' | 'remove'>;
  doubts: Pick<Doubts, 'look'>;
  mayStore?: ((hash: string) => Promise<void>) | undefined;
  log: Log;
  signal: AbortSignal;
  /** Updated with what was done. */
  report: SweepReport;
}

/**
 * Carries out the findings of a survey, checking records and marks again before each batch: moves files into place that
 * have a record, removes those whose image is deleted or whose time is over, and, unless that has to be confirmed, moves those
 * without a record to quarantine, or removes them if their content is blocked. Returns false if a doubt or the signal
 * has ended it early.
 */
export async function carryOut(
  { returned, buried, expired, strays }: Survey,
  { images, blobs, doubts, mayStore, log, signal, report }: QuarantineOptions,
): Promise<boolean> {
  let stopped = false;

  /** Runs the work for each file, with whether it has a record at this moment, until there is a doubt. */
  async function each(
    files: readonly ImageFile[],
    work: (file: ImageFile, hasRecord: boolean) => Promise<void>,
  ): Promise<void> {
    for (const batch of slices(files, BATCH)) {
      // A store may be emptied by mistake at any moment.
      stopped ||= (await doubts.look()).length > 0;
      if (stopped) return;
      const existing = await images.existing(batch.map(({ id }) => id));
      for (const file of batch) {
        stopped ||= signal.aborted;
        if (stopped) return;
        await work(file, existing.has(file.id));
      }
    }
  }

  async function discard({ blob }: ImageFile): Promise<void> {
    await blobs.remove(blob.key);
    report.removed++;
    report.freedBytes += blob.size;
  }

  async function takeOne(file: ImageFile): Promise<void> {
    if (file.original && (await isBlocked(blobs, file.blob.key, mayStore))) return discard(file);
    if (!(await blobs.move(file.key, strayKey(file.key)))) return;
    // The record was added at the last moment.
    if ((await images.existing([file.id])).size > 0) {
      await blobs.move(strayKey(file.key), file.key);
      return;
    }
    report.quarantined++;
    report.quarantinedBytes += file.blob.size;
    log('warn', 'file without a record quarantined', { key: file.key, size: file.blob.size });
  }

  await each(returned, async (file, hasRecord) => {
    if (!hasRecord || !(await blobs.move(file.blob.key, file.key))) return;
    report.restored++;
    log('warn', 'file put back into place: its record is there', { key: file.key });
  });
  await each([...buried, ...expired], async (file, hasRecord) => (hasRecord ? undefined : discard(file)));
  if (report.unconfirmed === 0)
    await each(strays, async (file, hasRecord) => (hasRecord ? undefined : takeOne(file)));
  return !stopped;
}

/** Reports whether the administrator has blocked the content of a stored file. */
async function isBlocked(
  blobs: Pick<BlobStore, 'get'>,
  key: string,
  mayStore: ((hash: string) => Promise<void>) | undefined,
): Promise<boolean> {
  const body = mayStore && (await blobs.get(key));
  if (!body) return false;
  const hash = createHash('sha256');
  for await (const piece of body instanceof Blob ? body.stream() : body) hash.update(piece);
  return mayStore(hash.digest('hex')).then(
    () => false,
    (error: unknown) => {
      if (error instanceof AppError && error.code === 'forbidden') return true;
      throw error;
    },
  );
}
