import type { Log } from '../../lib/logger.ts';
import type { BlobStore } from '../store.ts';

/** Number of files remembered. The sweep finds the others by their tombstones. */
const MAX_REMEMBERED = 10_000;

/** Removes the files of images whose record is gone, and remembers those that could not be removed. */
interface Removals {
  /** Never rejects. */
  remove(key: string): Promise<void>;
  /** Retries the failed ones. Rejects with the first failure. */
  retry(): Promise<void>;
}

/** After a restart, failed removals are left to the sweep. */
export function createRemovals(blobs: Pick<BlobStore, 'remove'>, log: Log): Removals {
  const failed = new Set<string>();
  return {
    async remove(key) {
      await blobs.remove(key).catch((cause) => {
        log('warn', 'file not removed', { key, cause });
        if (failed.size < MAX_REMEMBERED) failed.add(key);
      });
    },
    async retry() {
      for (const key of failed) {
        await blobs.remove(key);
        failed.delete(key);
      }
    },
  };
}
