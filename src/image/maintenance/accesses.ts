import type { Log } from '../../lib/logger.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageStore } from '../store.ts';

/** Resolution of an image's last access, in ms, so that reading rarely means writing. */
const RESOLUTION_MS = 3_600_000;
/** Above this number, accesses are written without waiting for the timer. */
const MAX_PENDING = 5000;
/** Maximum number kept while they cannot be written; some 12 MB. */
const MAX_KEPT = 100_000;

interface AccessLogOptions {
  images: Pick<ImageStore, 'touch'>;
  now: () => number;
  log: Log;
  /** Called with the IDs of the changed records. */
  onWritten: (ids: Iterable<string>) => void;
}

export function createAccessLog({ images, now, log, onWritten }: AccessLogOptions) {
  let pending = new Map<string, number>();
  /** Those that are being written. */
  let written = new Map<string, number>();
  let flushing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    if (pending.size === 0) return;
    const batch = pending;
    written = batch;
    pending = new Map();
    try {
      await images.touch(batch);
      onWritten(batch.keys());
    } catch (cause) {
      log('warn', 'accesses not written', { images: batch.size, cause });
      pending = new Map([...batch, ...pending].slice(0, MAX_KEPT));
    } finally {
      written = new Map();
    }
  }

  const flush = () => {
    flushing = flushing.then(write);
    return flushing;
  };

  return {
    /** Records that an image was opened, at most once an hour for each image. */
    note({ id, lastAccess }: ImageRecord): void {
      if (now() - lastAccess < RESOLUTION_MS || pending.has(id)) return;
      pending.set(id, now());
      if (pending.size === MAX_PENDING) void flush();
    },
    /** Writes the recorded accesses. Those that cannot be written are kept for the next time. Never rejects. */
    flush,
    /** Reports whether an access to the image was recorded and is not written yet. */
    has: (id: string) => pending.has(id) || written.has(id),
  };
}

/** Collects accesses and writes them in batches. */
export type AccessLog = ReturnType<typeof createAccessLog>;
