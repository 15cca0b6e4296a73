import { forEachBounded } from '../../lib/for-each-bounded.ts';
import type { Log } from '../../lib/logger.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageStore } from '../store.ts';

const BATCH = 100;
/** An image has up to nine files, and a store far away takes its time for each: thousands that expire together must go in a minute. */
const AT_ONCE = 16;

export interface EndsOptions {
  images: Pick<ImageStore, 'endedBy' | 'removeEnded' | 'existing'>;
  now: () => number;
  /** Removes what belongs to a record that is gone. */
  onRemoved: (image: ImageRecord) => Promise<void>;
  log: Log;
}

/**
 * Returns a function that removes images that have expired, or whose last view counts as seen. Each copy of the server may call it at the
 * same time: of two that meet at an image one removes it. It is done whatever doubts there are, as a deletion by an uploader is.
 */
export function createEnds({ images, now, onRemoved, log }: EndsOptions) {
  /** The store has not said whether their records are gone, as its answer was lost. */
  const unclear = new Map<string, ImageRecord>();

  async function clear(): Promise<void> {
    if (unclear.size === 0) return;
    const known = await images.existing([...unclear.keys()]);
    for (const [id, image] of unclear) {
      unclear.delete(id);
      if (!known.has(id)) await onRemoved(image);
    }
  }

  /** Whether it was this call that removed the image. */
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
      // Another copy has them, or their end was put off.
      if (!some) break;
    }
  };
}
