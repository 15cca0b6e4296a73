import { forEachBounded } from '../../lib/for-each-bounded.ts';
import type { Log } from '../../lib/logger.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageStore } from '../store.ts';

const BATCH = 100;
/**
 * An image has up to nine files, and a remote store is slow for each. Thousands of images that expire together must
 * be gone within a minute.
 */
const AT_ONCE = 16;

interface EndsOptions {
  images: Pick<ImageStore, 'endedBy' | 'removeEnded' | 'existing'>;
  now: () => number;
  /** Removes everything that belongs to a removed record. */
  onRemoved: (image: ImageRecord) => Promise<void>;
  log: Log;
}

/**
 * Creates a function that removes images that have expired, or whose last view counts as seen. All copies of the
 * server may call it at the same time; only one of them removes each image. Doubts do not stop it, as they do not
 * stop a deletion by an uploader.
 */
export function createEnds({ images, now, onRemoved, log }: EndsOptions) {
  /** Images whose records may or may not be gone, because the store's answer was lost. */
  const unclear = new Map<string, ImageRecord>();

  async function clear(): Promise<void> {
    if (unclear.size === 0) return;
    const known = await images.existing([...unclear.keys()]);
    for (const [id, image] of unclear) {
      unclear.delete(id);
      if (!known.has(id)) await onRemoved(image);
    }
  }

  /** Returns whether this call removed the image. */
  async function remove(image: ImageRecord): Promise<boolean> {
    try {
      if (!(await images.removeEnded(image.id, now()))) return false;
    } catch (cause) {
      unclear.set(image.id, image);
      log('warn', 'expired image not removed', { id: image.id, cause });
      return false;
    }
    await onRemoved(image);
    return true;
  }

  return async (signal: AbortSignal): Promise<void> => {
    await clear();
    while (!signal.aborted) {
      const ended = await images.endedBy(now(), BATCH);
      let some = false;
      const work = async (image: ImageRecord) => {
        if (await remove(image)) some = true;
      };
      await forEachBounded(ended, AT_ONCE, work, signal);
      // Another copy removed them, or their expiry was postponed.
      if (!some) break;
    }
  };
}
