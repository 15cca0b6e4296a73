import { randomFillSync } from 'node:crypto';
import { rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';

/** Enough for the log of some fifty deletions, each of which frees a file. */
const BYTES = 4 * 1024 * 1024;
/** How often the server tries to reserve the space again, in ms. */
const PAUSE_MS = 60_000;

/** Disk space reserved for deletions, which also need some on a disk that is completely full. */
export interface Reserve {
  /** Releases the space for the next write. Returns false if there was none. */
  release(): boolean;
  /** Reserves the space again if it was released a while ago, and the disk has room. */
  renew(): void;
}

/** Opens the reserve, a file beside the database at `path` that the first `renew` creates. */
export function openReserve(path: string): Reserve {
  const file = `${path}-reserve`;
  let triedAt = Number.NEGATIVE_INFINITY;
  return {
    release() {
      triedAt = performance.now();
      try {
        unlinkSync(file);
        return true;
      } catch {
        return false;
      }
    },
    renew() {
      if (performance.now() - triedAt < PAUSE_MS) return;
      triedAt = performance.now();
      if (statSync(file, { throwIfNoEntry: false })?.size === BYTES) return;
      try {
        // Not zeros, which would take no space on a compressing file system.
        writeFileSync(file, randomFillSync(Buffer.allocUnsafe(BYTES)), { mode: 0o600 });
      } catch {
        // An incomplete file would only waste space.
        rmSync(file, { force: true });
      }
    },
  };
}
