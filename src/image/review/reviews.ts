import { MEDIA_TYPES } from '../../codec/format.ts';
import { AppError, inEnglish } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { holding, type Locks, writeHeld } from '../../lib/locks.ts';
import type { StateStore } from '../../lib/state.ts';
import { isStorageFull } from '../../lib/storage-full.ts';
import type { ImageRecord } from '../image.ts';
import { HELD, originalKey } from '../records/blob-keys.ts';
import type { BlobStore, ImageStore } from '../store.ts';

interface ReviewsOptions {
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  blobs: BlobStore;
  images: Pick<ImageStore, 'insert' | 'get'>;
  clock: Pick<Clock, 'now' | 'sleep'>;
  /** Rejects with `forbidden` for a file, by its SHA-256, or a look, that must not be stored. Default: none is. */
  mayStore?: (hash: string, phash: string | null) => Promise<void>;
  /** Called with each picture that was allowed; again if the decision was interrupted and is repeated. */
  onStored: (image: ImageRecord) => void;
  /** Removes the image with that ID, if it is stored; `mayCome`: or if it is stored late. */
  discard: (image: ImageRecord, mayCome: boolean) => Promise<void>;
}

const KEY = 'image-reviews';
/** What entries of older versions lack. */
const OLDER = { exif: null, made: null, title: null, alt: null };
/** Takes some 800 KB. */
const MAX_HELD = 1000;

/** Returns the key of a picture's file while it is in review. */
export const heldKey = (image: Pick<ImageRecord, 'id' | 'format'>) => HELD + originalKey(image);

/** Returns what is in review, oldest first. */
export async function readReviews(state: Pick<StateStore, 'get'>): Promise<ImageRecord[]> {
  const text = await state.get(KEY);
  const held: ImageRecord[] = text === null ? [] : JSON.parse(text);
  return held.map((image) => ({ ...OLDER, ...image }));
}

/**
 * Creates the reviews. A file in review always has a record: the record is added first and removed last, so that a
 * crash leaves an entry that the administrator can remove, and no orphaned file.
 */
export function createReviews({
  state,
  locks,
  blobs,
  images,
  clock,
  mayStore,
  onStored,
  discard,
}: ReviewsOptions) {
  const list = () => readReviews(state);

  /** Serialises changes: a picture that is being withdrawn cannot be allowed meanwhile. */
  const change = (work: (held: ImageRecord[]) => ImageRecord[] | Promise<ImageRecord[]>): Promise<void> =>
    holding({ locks, name: 'image-reviews', clock }, async (demandHeld) => {
      const changed = await work(await list());
      // Another copy may have made a change that this one has not seen.
      await writeHeld(state, KEY, changed, demandHeld());
    });

  const without = (held: ImageRecord[], id: string) => held.filter((one) => one.id !== id);

  function demand(held: readonly ImageRecord[], id: string): ImageRecord {
    const image = held.find((one) => one.id === id);
    if (image) return image;
    throw notHeld();
  }

  /** The file first: an interrupted change is repeated by the next attempt. */
  async function letThrough(image: ImageRecord): Promise<void> {
    // It may have been blocked since, also since an approval that was interrupted.
    await mayStore?.(image.hash, image.phash);
    await blobs.move(heldKey(image), originalKey(image));
    if ((await blobs.stat(originalKey(image))) === null) {
      throw new AppError('not_found', inEnglish('The file of this picture is gone.'));
    }
    try {
      // Nobody could view it before.
      await images.insert({ ...image, lastAccess: clock.now() });
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'conflict')) throw error;
    }
    onStored(image);
  }

  /** An approval that was interrupted has moved the file, and may have made it an image, or do so yet. */
  async function refuse(image: ImageRecord): Promise<void> {
    await discard(image, (await blobs.stat(heldKey(image))) === null);
    await blobs.remove(heldKey(image));
  }

  async function withdraw(id: string): Promise<boolean> {
    let isThere = false;
    await change(async (held) => {
      const image = held.find((one) => one.id === id);
      if (!image) return held;
      await refuse(image);
      isThere = true;
      return without(held, id);
    }).catch((error: unknown) => {
      // Without its file, the entry that stays in a full store leads to nothing.
      if (!isThere || !isStorageFull(error)) throw error;
    });
    return isThere;
  }

  return {
    /** Lists them, oldest first. */
    list,
    /** Returns the record, or `null` if no such picture is in review. */
    find: async (id: string) => (await list()).find((one) => one.id === id) ?? null,

    /** Keeps a picture, and takes over its file. Rejects with `unavailable` if there are too many. */
    async hold(image: ImageRecord, path: string): Promise<void> {
      try {
        await change((held) => {
          if (held.length < MAX_HELD) return [...held, image];
          throw new AppError('unavailable', 'Too many pictures are waiting for review.');
        });
        await blobs.put(heldKey(image), path, MEDIA_TYPES[image.format]);
      } catch (error) {
        await change((held) => without(held, image.id)).catch(() => {});
        throw error;
      }
    },

    /** Returns its file. Rejects with `not_found`. */
    async file(id: string): Promise<{ image: ImageRecord; body: Blob | ReadableStream<Uint8Array> }> {
      const image = demand(await list(), id);
      const body = await blobs.get(heldKey(image));
      if (body === null) throw new AppError('not_found', inEnglish('The file of this picture is gone.'));
      return { image, body };
    },

    /**
     * Turns it into a normal image, or removes it. Rejects with `not_found`, with `forbidden` if it was blocked, and
     * with `conflict` if one to block was allowed.
     */
    async decide(id: string, verdict: 'allow' | 'block'): Promise<void> {
      if (verdict === 'block') {
        if (await withdraw(id)) return;
        // That it is not there would mean that it is gone.
        if ((await images.get(id)) !== null)
          throw new AppError(
            'conflict',
            inEnglish('This picture is not in review any more: it was allowed.'),
          );
        throw notHeld();
      }
      await change(async (held) => {
        await letThrough(demand(held, id));
        return without(held, id);
      });
    },

    /** Removes it. Returns false if it is no longer in review. */
    withdraw,

    /** Removes those that have expired: nobody will see them. */
    async removeExpired(by: number): Promise<void> {
      const isOver = ({ expiresAt }: ImageRecord) => expiresAt !== null && expiresAt <= by;
      if (!(await list()).some(isOver)) return;
      await change(async (held) => {
        for (const image of held.filter(isOver)) await refuse(image);
        return held.filter((image) => !isOver(image));
      });
    },

    /** Total size of the files. */
    async bytes(): Promise<number> {
      return (await list()).reduce((sum, { size }) => sum + size, 0);
    },
  };
}

/**
 * Pictures that nobody sees before the administrator does. Their records are separate from those of images, and their
 * files are in a separate folder, so that no link leads to them.
 */
export type Reviews = ReturnType<typeof createReviews>;

const notHeld = () => new AppError('not_found', inEnglish('This picture is not in review.'));
