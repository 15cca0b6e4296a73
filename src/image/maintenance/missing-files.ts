import { AppError, inEnglish } from '../../errors.ts';
import { cachedFor } from '../../lib/answer-cache.ts';
import type { StateStore } from '../../lib/state.ts';
import { originalKey } from '../records/blob-keys.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import { hasMoreThan } from './files.ts';

/** The files of this many images are looked for, until one is found. */
const SAMPLE = 20;
/** How long uploads believe that the files are in place, in ms. */
const BELIEVED_MS = 2000;

/** State key: the files of images up to this time of creation, ms since 1970, were given up by the operator. */
const GIVEN_UP = 'image-files-given-up';

/** For the operator: all files are gone, as if their disk were not mounted. */
export const FILES_MISSING =
  'There are records of images, but none of their files at BLOBS_URL. Mount or restore them; uploads are refused until then. If they are lost for good, picpool sweep --confirm continues without them.';

interface Stores {
  images: Pick<ImageStore, 'recent'>;
  blobs: Pick<BlobStore, 'list' | 'stat'>;
  state: Pick<StateStore, 'get'>;
}

/**
 * Reports whether the files of the latest images are in place; `null` if there are no records, or only such whose files
 * were given up.
 */
export async function latestFiles({ images, blobs, state }: Stores): Promise<'there' | 'missing' | null> {
  const givenUp = Number((await state.get(GIVEN_UP)) ?? Number.NEGATIVE_INFINITY);
  const latest = (await images.recent({ offset: 0, limit: SAMPLE })).filter(
    ({ createdAt }) => createdAt > givenUp,
  );
  for (const image of latest) if (await blobs.stat(originalKey(image))) return 'there';
  return latest.length > 0 ? 'missing' : null;
}

/**
 * Reports whether there are records, but no files. With a mark, some files may be lost, but not all: a bucket may have been
 * emptied, or the mark be in the folder below the mount point.
 */
export async function areFilesMissing(stores: Stores, marked: string | null): Promise<boolean> {
  if ((await latestFiles(stores)) !== 'missing') return false;
  return marked === null || !(await hasMoreThan(0, stores.blobs));
}

/** Continues without the files of all images that are stored now, for an operator who knows that they are lost. */
export async function giveUpFiles({
  images,
  state,
}: Pick<Stores, 'images'> & { state: Pick<StateStore, 'set'> }): Promise<void> {
  const [latest] = await images.recent({ offset: 0, limit: 1 });
  if (latest) await state.set(GIVEN_UP, String(latest.createdAt));
}

/**
 * Creates a check for uploads and for files that are not found. It rejects with `unavailable` while the records have no files: what is
 * stored then may be hidden as soon as the right disk is mounted there, and what is not found is there again.
 */
export function createFilesGuard({
  readMark,
  now,
  ...stores
}: Stores & { readMark: () => Promise<string | null>; now: () => number }): () => Promise<void> {
  const areMissing = cachedFor(BELIEVED_MS, now, async () => areFilesMissing(stores, await readMark()));
  return async () => {
    if (!(await areMissing())) return;
    throw new AppError(
      'unavailable',
      inEnglish(
        'The files of existing images are missing, so uploads are paused. The operator has to mount or restore the storage.',
      ),
      { retryAfterMs: 60_000 },
    );
  };
}
