import { mkdir, statfs } from 'node:fs/promises';
import { AppError } from '../errors.ts';
import type { ImageStore } from './store.ts';

/** How long an answer about the disk or the store is believed, in ms. */
const BELIEVED_MS = 1000;

/** Keeps uploads from filling the storage. Reads are not affected. */
export interface Quota {
  /** Before a body is taken in, of at most so many bytes. Rejects with `storage_full`. */
  admit(bytes: number): Promise<void>;
  /**
   * Before a file of that many bytes is stored; answers a function to call when it is stored, or is not. Rejects
   * with `storage_full`.
   */
  reserve(bytes: number): Promise<() => void>;
  /** Free bytes where there is least; `null` if nobody knows. */
  freeBytes(): Promise<number | null>;
}

export interface QuotaOptions {
  images: Pick<ImageStore, 'summary'>;
  /** Bytes of smaller versions. */
  versionBytes: () => Promise<number>;
  /** Of all stored images and their smaller versions; without it only the disk counts. */
  maxBytes: number | undefined;
  /** Bytes of files in quarantine, which take room as well. */
  strayBytes: () => Promise<number>;
  /** Bytes of pictures in review. */
  heldBytes: () => Promise<number>;
  /** Free bytes that uploads leave. */
  reserveBytes: number;
  /** On whose file systems there must be room; made where they are missing. */
  folders: readonly string[];
  /** Ms since any moment. */
  now: () => number;
  /** Free bytes of a file system; asks the system when not given. */
  freeOf?: (folder: string) => Promise<number>;
}

export function createQuota(options: QuotaOptions): Quota {
  const {
    images,
    versionBytes,
    strayBytes,
    heldBytes,
    maxBytes,
    reserveBytes,
    folders,
    now,
    freeOf = freeBytesOf,
  } = options;
  /** Bytes of files that are being stored, which the store does not count yet. */
  let pending = 0;

  const freeBytes = believed(now, async () => {
    const known = await Promise.allSettled(folders.map(freeOf));
    const found = known.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    return found.length === 0 ? null : Math.min(...found);
  });

  async function checkDisk(bytes: number): Promise<void> {
    const free = await freeBytes();
    if (free === null || free - bytes >= reserveBytes) return;
    throw new AppError('storage_full', 'The server is almost out of disk space; uploads are paused.');
  }

  async function checkStore(bytes: number): Promise<void> {
    if (maxBytes === undefined) return;
    const [{ bytes: stored }, versions, strays, held] = await Promise.all([
      images.summary(),
      versionBytes(),
      strayBytes(),
      heldBytes(),
    ]);
    if (stored + versions + strays + held + pending + bytes <= maxBytes) return;
    throw new AppError('storage_full', 'The image storage is full; uploads are paused.');
  }

  return {
    freeBytes,
    async admit(bytes) {
      await checkDisk(bytes);
      // What is stored may be far smaller than what is sent.
      await checkStore(1);
    },
    async reserve(bytes) {
      // Counted at once, so that two uploads at the same time do not both see the same room.
      pending += bytes;
      let released = false;
      const release = () => {
        if (!released) pending -= bytes;
        released = true;
      };
      try {
        await checkStore(0);
        return release;
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

async function freeBytesOf(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Asks at most once in `BELIEVED_MS`. */
function believed<T>(now: () => number, ask: () => Promise<T>): () => Promise<T> {
  let last: { at: number; answer: Promise<T> } | undefined;
  return () => {
    if (!last || now() - last.at >= BELIEVED_MS) last = { at: now(), answer: ask() };
    return last.answer;
  };
}
