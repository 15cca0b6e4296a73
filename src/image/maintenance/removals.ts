import type { Log } from '../../lib/logger.ts';
import type { BlobStore } from '../store.ts';

/** Number of files remembered. The sweep finds the others by their tombstones. */
const MAX_REMEMBERED = 10_000;

/** Removes the files of images whose record is gone, and remembers those that could not be removed. */
interface Removals {
  /** Returns false if the file could not be removed, so that it will be retried. Never rejects. */
  remove(key: string): Promise<boolean>;
  /** Retries the failed ones until one fails again. Never rejects. */
  retry(): Promise<void>;
}

/** After a restart, failed removals are left to the sweep. */
export function createRemovals(blobs: Pick<BlobStore, 'remove'>, log: Log): Removals {
  const failed = new Set<string>();

  async function remove(key: string): Promise<boolean> {
    try {
      await blobs.remove(key);
      return true;
    } catch (cause) {
      log('warn', 'file not removed', { key, cause });
      if (failed.size < MAX_REMEMBERED) failed.add(key);
      return false;
    }
  }

  return {
    remove,
    async retry() {
      for (const key of [...failed]) {
        // One that fails again goes to the end.
        failed.delete(key);
        if (!(await remove(key))) return;
      }
    },
  };
}
