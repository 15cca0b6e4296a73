import { randomFillSync } from 'node:crypto';
import { appendFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { freeOn } from '../../src/lib/storage-full.ts';

/** A write takes some 50 KB of the log, which is then reused, and seldom a page of the database. */
const BYTES = 4 * 1024 * 1024;
/** What only deletions may use, in bytes. */
export const FOR_DELETIONS = BYTES / 4;
/** How often the server tries to reserve the space again, in ms. */
const PAUSE_MS = 60_000;

/** Returns how much space the disk of a file has, in bytes. */
export const spaceBeside = (path: string) => freeOn(statfsSync(dirname(path)));

/** Opens the reserve, a file beside the database at `path` that the first `renew` creates. */
export function openReserve(path: string) {
  const file = `${path}-reserve`;
  const sizeNow = () => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  let triedAt = Number.NEGATIVE_INFINITY;

  function take(isWhole: boolean): void {
    try {
      const missing = BYTES - sizeNow();
      if (missing <= 0 || (isWhole && missing > spaceBeside(path))) return;
      // Not zeros, which would take no space on a compressing file system.
      appendFileSync(file, randomFillSync(Buffer.allocUnsafe(missing)), { mode: 0o600 });
    } catch {
      // What fits stays.
    }
  }

  return {
    /** Releases the space for the next write. Returns false if there is none, or not more than `least` bytes. */
    release(least = 0): boolean {
      triedAt = performance.now();
      if (sizeNow() <= least) return false;
      rmSync(file, { force: true });
      return true;
    },
    /** Takes back at once what the write has left. */
    retake: () => take(false),
    /** Reserves the space again if it was released a while ago, and the disk has room for all. */
    renew(): void {
      if (performance.now() - triedAt < PAUSE_MS) return;
      triedAt = performance.now();
      take(true);
    },
  };
}

/** Disk space for deletions, acts of moderators and other small writes, which also need some on a disk that is completely full. */
export type Reserve = ReturnType<typeof openReserve>;
