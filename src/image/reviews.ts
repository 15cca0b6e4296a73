import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Lease, Locks } from '../lib/locks.ts';
import type { StateStore } from '../lib/state.ts';
import { originalKey } from './blob-keys.ts';
import { type ImageRecord, MEDIA_TYPES } from './image.ts';
import type { BlobStore, ImageStore } from './store.ts';

/**
 * Pictures that the administrator looks at before anyone else does. Their records are not among those of images, and their files
 * lie in a folder of their own, so that no way leads to them.
 */
export interface Reviews {
  /** Keeps a picture, and takes over its file. Rejects with `unavailable` if too many are kept already. */
  hold(image: ImageRecord, path: string): Promise<void>;
  /** The oldest first. */
  list(): Promise<readonly ImageRecord[]>;
  /** Its file; rejects with `not_found`. */
  file(id: string): Promise<{ image: ImageRecord; body: Blob | ReadableStream<Uint8Array> }>;
  /** Makes it an image like others, or removes it. Rejects with `not_found`. */
  decide(id: string, verdict: 'allow' | 'block'): Promise<void>;
  /** The record, or `null` if no such picture is in review. */
  find(id: string): Promise<ImageRecord | null>;
  /** Removes it; false if it is not in review any more. */
  withdraw(id: string): Promise<boolean>;
  /** Of all files. */
  bytes(): Promise<number>;
}

export interface ReviewsOptions {
  state: Pick<StateStore, 'get' | 'set'>;
  locks: Locks;
  blobs: BlobStore;
  images: Pick<ImageStore, 'insert' | 'confirm'>;
  clock: Pick<Clock, 'sleep'>;
  /** Hears of what was let through. */
  onStored: (image: ImageRecord) => void;
}

const KEY = 'image-reviews';
const LOCK_TTL_MS = 10_000;
/** A change takes some milliseconds; others may want one at the same time. */
const TRIES = 200;
const PAUSE_MS = 25;
/** Some 800 KB. */
const MAX_HELD = 1000;

/** Where the file of a picture in review lies. */
export const heldKey = (image: Pick<ImageRecord, 'id' | 'format'>) => `review/${originalKey(image)}`;

/** What is in review, the oldest first. */
export async function readReviews(state: Pick<StateStore, 'get'>): Promise<ImageRecord[]> {
  const text = await state.get(KEY);
  const held: ImageRecord[] = text === null ? [] : JSON.parse(text);
  // Those that an older version has put there lack what came later.
  return held.map((image) => ({ ...image, exif: image.exif ?? null }));
}

/**
 * A file in review has a record for as long as it is there: the record comes first and goes last, so that a crash in between leaves an
 * entry that the administrator can remove, and no file that nobody knows.
 */
export function createReviews({ state, locks, blobs, images, clock, onStored }: ReviewsOptions): Reviews {
  const list = () => readReviews(state);

  async function acquire(): Promise<Lease> {
    for (let tries = 0; tries < TRIES; tries++) {
      const lease = await locks.acquire('image-reviews', LOCK_TTL_MS);
      if (lease) return lease;
      await clock.sleep(PAUSE_MS);
    }
    throw new AppError('unavailable', 'Too many decisions at once; try again in a moment.', {
      retryAfterMs: 5000,
    });
  }

  /** One change after the other: what is withdrawn is not let through meanwhile. */
  async function change(
    work: (held: ImageRecord[]) => ImageRecord[] | Promise<ImageRecord[]>,
  ): Promise<void> {
    const lease = await acquire();
    try {
      await state.set(KEY, JSON.stringify(await work(await list())));
    } finally {
      await lease.release();
    }
  }

  const without = (held: ImageRecord[], id: string) => held.filter((one) => one.id !== id);

  function demand(held: readonly ImageRecord[], id: string): ImageRecord {
    const image = held.find((one) => one.id === id);
    if (image) return image;
    throw new AppError('not_found', 'This picture is not in review.');
  }

  /** The file first: what ends in between is done again by the next try. */
  async function letThrough(image: ImageRecord): Promise<void> {
    await blobs.move(heldKey(image), originalKey(image));
    if ((await blobs.stat(originalKey(image))) === null) {
      throw new AppError('not_found', 'The file of this picture is gone.');
    }
    try {
      await images.insert(image);
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'conflict')) throw error;
    }
    await images.confirm(image.id);
  }

  return {
    list,
    find: async (id) => (await list()).find((one) => one.id === id) ?? null,

    async hold(image, path) {
      await change((held) => {
        if (held.length < MAX_HELD) return [...held, image];
        throw new AppError('unavailable', 'Too many pictures are waiting for review.');
      });
      try {
        await blobs.put(heldKey(image), path, MEDIA_TYPES[image.format]);
      } catch (error) {
        await change((held) => without(held, image.id)).catch(() => {});
        throw error;
      }
    },

    async file(id) {
      const image = demand(await list(), id);
      const body = await blobs.get(heldKey(image));
      if (body === null) throw new AppError('not_found', 'The file of this picture is gone.');
      return { image, body };
    },

    async decide(id, verdict) {
      let stored: ImageRecord | null = null;
      await change(async (held) => {
        const image = demand(held, id);
        if (verdict === 'allow') {
          await letThrough(image);
          stored = image;
        } else await blobs.remove(heldKey(image));
        return without(held, id);
      });
      if (stored) onStored(stored);
    },

    async withdraw(id) {
      let isThere = false;
      await change(async (held) => {
        const image = held.find((one) => one.id === id);
        if (!image) return held;
        await blobs.remove(heldKey(image));
        isThere = true;
        return without(held, id);
      });
      return isThere;
    },

    async bytes() {
      return (await list()).reduce((sum, { size }) => sum + size, 0);
    },
  };
}
