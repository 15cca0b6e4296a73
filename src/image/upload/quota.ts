import type { InputLimits } from '../../codec/workers/protocol.ts';
import { AppError } from '../../errors.ts';
import { cachedFor } from '../../lib/answer-cache.ts';
import { freeBytesOf } from '../../lib/storage-full.ts';
import type { Listing } from '../records/audience.ts';

/** How long an answer about the disk is used, in ms. */
const BELIEVED_MS = 1000;

interface QuotaOptions {
  /** Return the bytes of what counts: images, their smaller versions, files in quarantine, pictures in review. */
  counts: readonly (() => Promise<number>)[];
  /** Maximum size of all that. Default: only the disk counts. */
  maxBytes: number | undefined;
  /** Free bytes that uploads must leave. */
  reserveBytes: number;
  /** Folders whose file systems need space. Created if they are missing. */
  folders: readonly string[];
  /** Ms since any moment. */
  now: () => number;
  /** Returns the free bytes of a file system. Default: asks the system. */
  freeOf?: (folder: string) => Promise<number>;
}

export function createQuota(options: QuotaOptions) {
  const { counts, maxBytes, reserveBytes, folders, now, freeOf = freeBytesOf } = options;
  /** Bytes of files that are being stored and that the store does not count yet. */
  let pending = 0;

  const freeBytes = cachedFor(BELIEVED_MS, now, async () => {
    const known = await Promise.allSettled(folders.map(freeOf));
    const found = known.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const least = Math.min(...found);
    return Number.isFinite(least) ? least : null;
  });

  async function checkDisk(bytes: number): Promise<void> {
    const free = await freeBytes();
    if (free === null || free - bytes >= reserveBytes) return;
    throw new AppError('storage_full', 'The server is almost out of disk space; uploads are paused.');
  }

  /** `added`: bytes that are to fit beside what the store counts. */
  async function checkStore(added: number): Promise<void> {
    if (maxBytes === undefined) return;
    const sizes = await Promise.all(counts.map((count) => count()));
    if (sizes.reduce((sum, size) => sum + size, added) <= maxBytes) return;
    throw new AppError('storage_full', 'The image storage is full; uploads are paused.');
  }

  return {
    /** Free bytes of the fullest file system; `null` if unknown. */
    freeBytes,
    /** Call before reading a body of at most this many bytes. Rejects with `storage_full`. */
    async admit(bytes: number): Promise<void> {
      await checkDisk(bytes);
      // The stored image may be far smaller than the upload.
      await checkStore(pending + 1);
    },
    /**
     * Call before storing a file of that many bytes. Returns a function to call, one time, when it is stored or not.
     * Rejects with `storage_full`.
     */
    async reserve(bytes: number): Promise<() => void> {
      // Counted at once, so that of two concurrent uploads the second sees the space of the first as taken, and only it.
      pending += bytes;
      const release = () => {
        pending -= bytes;
      };
      try {
        await checkStore(pending);
        return release;
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

/** Keeps uploads from filling the storage. Reads are not affected. */
export type Quota = ReturnType<typeof createQuota>;

/** What the image host accepts, and how long it keeps it. */
export interface ImageLimits extends InputLimits {
  maxUploadBytes: number;
  retentionMs: number;
  cleanupIntervalMs: number;
  /** How long files without a record stay in quarantine. */
  strayRetentionMs: number;
  /** How long caches may keep a public file. */
  cacheMaxAgeMs: number;
  listing: Listing;
  /** Maximum expiry that uploaders can set; infinity: forever. */
  maxExpiryMs: number;
  /** How long the uploader's address gives the right to delete; infinity: always. */
  deleteByAddressMs: number;
}
