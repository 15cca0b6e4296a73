import type { Log } from '../../lib/logger.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageStore } from '../store.ts';

/** Resolution of an image's last access, in ms, so that reading rarely means writing. */
const RESOLUTION_MS = 3_600_000;
/** Above this number, accesses are written without waiting for the timer. */
const MAX_PENDING = 5000;

/** Collects accesses and writes them in batches. */
export interface AccessLog {
  /** Records that an image was opened, at most once an hour for each image. */
  note(image: ImageRecord): void;
  /** Writes the recorded accesses. Those that cannot be written are kept for the next time. Never rejects. */
  flush(): Promise<void>;
}

interface AccessLogOptions {
  images: Pick<ImageStore, 'touch'>;
  now: () => number;
  log: Log;
  /** Called with the IDs of the changed records. */
  onWritten: (ids: Iterable<string>) => void;
}

export function createAccessLog({ images, now, log, onWritten }: AccessLogOptions): AccessLog {
  let pending = new Map<string, number>();
  let flushing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    if (pending.size === 0) return;
    const batch = pending;
    pending = new Map();
    try {
      await images.touch(batch);
      onWritten(batch.keys());
    } catch (cause) {
      log('warn', 'accesses not written', { images: batch.size, cause });
      if (batch.size <= MAX_PENDING) pending = new Map([...batch, ...pending]);
    }
  }

  const flush = () => {
    flushing = flushing.then(write);
    return flushing;
  };

  return {
    note({ id, lastAccess }) {
      if (now() - lastAccess < RESOLUTION_MS || pending.has(id)) return;
      pending.set(id, now());
      if (pending.size === MAX_PENDING) void flush();
    },
    flush,
  };
}
