import type { Clock } from '../../lib/clock.ts';
import type { Locks } from '../../lib/locks.ts';
import type { Log } from '../../lib/logger.ts';
import type { Repetition } from '../../lib/schedule.ts';
import type { StateStore } from '../../lib/state.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageFiles } from '../image-files.ts';
import type { ImageLimits } from '../limits.ts';
import type { RecordCache } from '../records.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import { createAccessLog } from './accesses.ts';
import { type CleanupReport, createAskedCleanup, createCleanup } from './cleanup.ts';
import { createDoubts } from './doubts.ts';
import { createEnds } from './ends.ts';
import { startMaintenance } from './maintenance.ts';

/** What the image host does on its own, and what of it can be asked for. */
export interface Upkeep {
  /**
   * Removes images that have not been viewed for a long time, for at most `budgetMs`. Rejects with `conflict`.
   * Without `admin`, it reports within ten minutes of a complete cleanup that nothing was removed.
   */
  cleanup(budgetMs: number, admin: boolean): Promise<CleanupReport>;
  /** Removes images that have expired or have no views left. The server calls it every 15 seconds. */
  removeEnded(signal?: AbortSignal): Promise<void>;
  /** Returns why no file is removed at the moment, as sentences; none if all is well. At most ten seconds old. */
  doubts(): Promise<readonly string[]>;
  /** Records that a person or program has viewed the image. */
  accessed(image: ImageRecord): void;
  /** Starts to write accesses and to clean up in the background. */
  start(): void;
  /** Stops that, and writes the last accesses. Idempotent. */
  stop(): Promise<void>;
}

export interface UpkeepOptions {
  images: ImageStore;
  blobs: BlobStore;
  files: Pick<ImageFiles, 'takeChanged' | 'retryRemovals'>;
  state: StateStore;
  locks: Locks;
  records: Pick<RecordCache, 'forget'>;
  clock: Pick<Clock, 'now'>;
  limits: Pick<ImageLimits, 'retentionMs' | 'cleanupIntervalMs' | 'strayRetentionMs'>;
  /** Folder for temporary files. */
  folder: string;
  /** Rejects with `forbidden` for the SHA-256 of a file that must not be kept. */
  mayStore: (hash: string) => Promise<void>;
  /** Removes everything that belongs to a removed record. */
  onRemoved: (image: ImageRecord) => Promise<void>;
  /** Called after each cleanup of this copy that was complete. */
  onCleaned: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Called with the reasons why no file is removed, or with none when files are removed again. */
  onDoubt: ((reasons: readonly string[]) => void) | undefined;
  /** Called with the total size of the smaller versions. */
  onVersionBytes: (bytes: number) => Promise<void>;
  log: Log;
}

export function createUpkeep(options: UpkeepOptions): Upkeep {
  const { images, blobs, files, state, locks, records, clock, limits, folder, mayStore, log } = options;
  const { onRemoved, onCleaned, onDoubt, onVersionBytes } = options;
  const now = () => clock.now();
  const accesses = createAccessLog({
    images,
    now,
    log,
    onWritten(ids) {
      for (const id of ids) records.forget(id);
    },
  });
  const doubts = createDoubts({ state, blobs, images, now, log, ...(onDoubt && { onChange: onDoubt }) });
  const { retentionMs } = limits;
  const cleanup = createCleanup({ images, locks, doubts, retentionMs, now, onRemoved });
  const removeEnded = createEnds({ images, now, onRemoved, log });
  const stopping = new AbortController();
  let maintenance: Repetition | null = null;

  return {
    cleanup: createAskedCleanup({ cleanup, accesses, state, now }),
    removeEnded: (signal = stopping.signal) => removeEnded(signal),
    doubts: doubts.recent,
    accessed: accesses.note,

    start() {
      images.prepare(stopping.signal).catch((cause) => log('warn', 'search not prepared', { cause }));
      maintenance ??= startMaintenance({
        images,
        blobs,
        files,
        state,
        locks,
        doubts,
        accesses,
        cleanup,
        clock,
        limits,
        folder,
        mayStore,
        onCleaned,
        onVersionBytes,
        removeEnded,
        log,
      });
    },

    async stop() {
      stopping.abort();
      await maintenance?.stop();
      maintenance = null;
      await accesses.flush();
    },
  };
}
