import { forEachBounded } from '../../lib/for-each-bounded.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageStore } from '../store.ts';

const BATCH = 100;
/** An image has up to nine files, and a store far away takes its time for each: thousands that expire together must go in a minute. */
const AT_ONCE = 16;

export interface EndsOptions {
  images: Pick<ImageStore, 'endedBy' | 'removeEnded'>;
  now: () => number;
  /** Removes what belongs to a record that is gone. */
  onRemoved: (image: ImageRecord) => Promise<void>;
}

/**
 * Removes images that have expired, or whose last view counts as seen. Each copy of the server may do so at the same time: of two
 * that meet at an image one removes it. It is done whatever doubts there are, as a deletion by an uploader is.
 */
export async function removeEnded(
  { images, now, onRemoved }: EndsOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const ended = await images.endedBy(now(), BATCH);
    let some = false;
    const remove = async (image: ImageRecord) => {
      if (!(await images.removeEnded(image.id, now()))) return;
      await onRemoved(image);
      some = true;
    };
    await forEachBounded(ended, AT_ONCE, remove, signal);
    // Another copy has them, or their end was put off.
    if (!some) break;
  }
}
