import { randomFillSync } from 'node:crypto';
import { rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';

/** Enough for the log of some fifty deletions, each of which frees a file. */
const BYTES = 4 * 1024 * 1024;
/** How often it is tried to get the room back, in ms. */
const PAUSE_MS = 60_000;

/** Room on the disk that is kept for deletions: on a disk that is full to the last byte they need some as well. */
export interface Reserve {
  /** Releases the space for the next write; false if there was none. */
  release(): boolean;
  /** Takes it again where it was given away a while ago, and the disk has it. */
  renew(): void;
}

/** The room is a file beside the database at `path`, from the first `renew` on. */
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
        // Zeros would take no room where the file system compresses.
        writeFileSync(file, randomFillSync(Buffer.allocUnsafe(BYTES)), { mode: 0o600 });
      } catch {
        // Half of it would only be in the way.
        rmSync(file, { force: true });
      }
    },
  };
}
