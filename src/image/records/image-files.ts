import { MEDIA_TYPES } from '../../codec/format.ts';
import { AppError, inEnglish } from '../../errors.ts';
import type { Log } from '../../lib/logger.ts';
import type { ImageRecord } from '../image.ts';
import { readPlaced } from '../maintenance/files.ts';
import { type Body, createSmallFiles } from '../serve/small-files.ts';
import type { Thumbnails, Version } from '../serve/thumbnails.ts';
import type { BlobStore, ByteRange, ImageStore } from '../store.ts';
import { keysOf, originalKey, type Shape, shapeKey } from './blob-keys.ts';
import { notFound } from './missing.ts';

interface ImageFilesOptions {
  images: Pick<ImageStore, 'insert' | 'get'>;
  blobs: BlobStore;
  thumbnails: Thumbnails;
  /** Rejects with `unavailable` while all files are missing. */
  requireFiles: () => Promise<void>;
  log: Log;
}

export function createImageFiles({ images, blobs, thumbnails, requireFiles, log }: ImageFilesOptions) {
  const smallFiles = createSmallFiles();
  const removals = createRemovals(blobs, log);
  let changed = false;

  return {
    /** Removes files that could not be removed with their images. */
    retryRemovals: removals.retry,
    /** Returns the stored file if it is in memory. */
    cached: (image: ImageRecord) => smallFiles.get(originalKey(image)),

    // File first, then record: a crash in between leaves a file without a link, never a dead link.
    /**
     * Stores the file at `path`, which it takes over, and then the record. If it rejects, either may exist all the
     * same.
     */
    async store(image: ImageRecord, path: string): Promise<void> {
      await blobs.put(originalKey(image), path, MEDIA_TYPES[image.format]);
      changed = true;
      try {
        await images.insert(image);
      } catch (cause) {
        const stored = await images.get(image.id).catch(() => null);
        if (stored?.deleteTokenHash !== image.deleteTokenHash) throw cause;
      }
    },

    /** Returns the file of an image in that shape. Rejects with `not_found` if it is missing, with `unavailable` if all are. */
    async read(image: ImageRecord, shape: Shape, range?: ByteRange): Promise<Body> {
      const key = shapeKey(image, shape);
      const kept = smallFiles.get(key);
      if (kept) return range ? kept.slice(range.start, range.end) : kept;
      const isVersion = key !== originalKey(image);
      const body = await readPlaced(blobs, key, range, isVersion || range ? undefined : image.size);
      if (body !== null) {
        if (isVersion) return body;
        // Images that expire or have limited views must not stay in memory.
        const keeps = !range && image.maxViews === null && image.expiresAt === null;
        const found = keeps ? await smallFiles.offer(key, image.size, body) : body;
        const size = range ? range.end - range.start : image.size;
        if (!(found instanceof Blob) || found.size === size) return found;
        // With the ETag of the whole, caches would keep a part for good.
        log('error', 'file of an image is damaged', { id: image.id, key, size: found.size, expected: size });
        throw new AppError('unavailable', inEnglish('The file of this image is damaged.'), { lasting: true });
      }
      thumbnails.forget(key);
      log('warn', 'file of an image is missing', { id: image.id, key });
      if (!isVersion) await requireFiles();
      throw notFound();
    },

    /** Returns the file to send for that shape. A version that does not exist yet is created at the payer's expense. */
    async version(image: ImageRecord, shape: Shape, payer: string): Promise<Version> {
      if (shapeKey(image, shape) === originalKey(image)) return { ...shape, size: image.size };
      return thumbnails.provide(image, shape, payer);
    },

    /** Reports whether files were stored or removed since the last call. */
    takeChanged(): boolean {
      const was = changed;
      changed = false;
      return was;
    },

    /** Makes the next call of `takeChanged` return true. */
    noteChange(): void {
      changed = true;
    },

    /** Removes all files after the record was removed. What cannot be removed now is removed later. */
    async remove(image: ImageRecord): Promise<void> {
      changed = true;
      const keys = keysOf(image);
      // At once, because a remote store is slow for each. The first is the original.
      await Promise.all(keys.slice(1).map((key) => thumbnails.discount(key)));
      for (const key of keys) {
        smallFiles.forget(key);
        await removals.remove(key);
      }
    },
  };
}

/** Stores, sends and removes the files of images. */
export type ImageFiles = ReturnType<typeof createImageFiles>;

/** Number of files remembered. The sweep finds the others by their tombstones. */
const MAX_REMEMBERED = 10_000;

/**
 * Removes the files of images whose record is gone, and remembers those that could not be removed. After a restart,
 * these are left to the sweep.
 */
export function createRemovals(blobs: Pick<BlobStore, 'remove'>, log: Log) {
  const failed = new Set<string>();

  /** Returns false if the file could not be removed, so that it will be retried. Never rejects. */
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
    /** Retries the failed ones until one fails again. Never rejects. */
    async retry(): Promise<void> {
      for (const key of [...failed]) {
        // One that fails again goes to the end.
        failed.delete(key);
        if (!(await remove(key))) return;
      }
    },
  };
}
