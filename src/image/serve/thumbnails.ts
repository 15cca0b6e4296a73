import { randomUUID } from 'node:crypto';
import { rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { Codec } from '../../codec/codec.ts';
import { MEDIA_TYPES } from '../../codec/format.ts';
import { AppError, type ErrorCode, invalidField, message } from '../../errors.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { StateStore } from '../../lib/state.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import type { ImageRecord } from '../image.ts';
import { readPlaced } from '../maintenance/files.ts';
import { originalKey, type Shape, shapeKey, THUMBNAIL_WIDTHS } from '../records/blob-keys.ts';
import { notFound } from '../records/missing.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import type { Quota } from '../upload/quota.ts';
import { writeTemporary } from '../upload/temporary-file.ts';

const MAX_KNOWN_SIZES = 20_000;
/** Why a version cannot be made for any viewer. */
const LASTING: ErrorCode[] = ['undecodable_image', 'image_limit', 'conversion_timeout'];
/** How long such a version is not tried again: each try may cost a viewer 30 s of computing time, but a busy machine may have been the cause. */
const RETRY_MS = 600_000;

/** The shape that is sent: the requested one, or the stored file if that is smaller, or if it could not be made. */
export interface Version extends Shape {
  /** Bytes. */
  size: number;
  /** Set if the stored file stands in for a version that could not be made now. */
  isStopgap?: true;
}

interface ThumbnailOptions {
  blobs: Pick<BlobStore, 'get' | 'put' | 'stat' | 'move' | 'remove'>;
  images: Pick<ImageStore, 'existing'>;
  codec: Pick<Codec, 'convert'>;
  /** Folder for temporary files. */
  folder: string;
  /** Keeps versions from filling the storage. */
  quota?: Pick<Quota, 'reserve'> | undefined;
  /** Counts the bytes of versions. */
  bytes: Pick<ReturnType<typeof createVersionBytes>, 'add'>;
  /** Ms since 1970. */
  now: () => number;
}

export function createThumbnails({ blobs, images, codec, folder, quota, bytes, now }: ThumbnailOptions) {
  /** Bytes by key; 0 if the stored file replaces the version. The store marks that with an empty file. */
  const sizes = new BoundedMap<string, number>(MAX_KNOWN_SIZES);
  const making = new Map<string, Promise<number>>();
  /** When the conversion failed, by key. */
  const failed = new BoundedMap<string, number>(MAX_KNOWN_SIZES);
  /** Bytes of what has been converted, by key: a full store takes some files, but not this one. */
  const needed = new BoundedMap<string, number>(MAX_KNOWN_SIZES);

  async function make(
    image: ImageRecord,
    { width, format }: Shape,
    key: string,
    client: string,
  ): Promise<number> {
    const stored = await blobs.stat(key);
    if (stored) return stored.size;
    // Checked before the conversion, which would otherwise be wasted.
    (await quota?.reserve(needed.get(key) ?? 1))?.();
    const source = await readPlaced(blobs, originalKey(image));
    // The stored file is asked for instead, which tells whether all are missing.
    if (source === null) throw new Error('There is no file to convert.');
    const name = randomUUID();
    const input = join(folder, `${name}.in`);
    const output = join(folder, `${name}.out`);
    try {
      await writeTemporary(input, source instanceof Blob ? source.stream() : source);
      const converted = await codec.convert(
        { input, output, format, stripExif: true, smallest: true, maxWidth: width ?? image.width },
        { client, purpose: 'version' },
      );
      const isWanted = converted.size < image.size || (format === 'jpeg' && format !== image.format);
      const size = isWanted ? converted.size : 0;
      needed.set(key, size);
      const release = await quota?.reserve(size);
      try {
        if (size === 0) await truncate(output);
        await blobs.put(key, output, MEDIA_TYPES[format]);
        // An image that was removed meanwhile must leave no files behind.
        if ((await images.existing([image.id])).size === 0) {
          await blobs.remove(key);
          throw notFound();
        }
        await bytes.add(size);
      } finally {
        release?.();
      }
      return size;
    } finally {
      await Promise.all([rm(input, { force: true }), rm(output, { force: true })]);
    }
  }

  return {
    /**
     * Makes sure that the version exists. Concurrent requests share one conversion, which the first client pays for. A
     * version that is not smaller than the file itself is not kept, except as JPEG for clients that accept nothing
     * else. If it cannot be made, because there is no space, the client has used up its share, the server is busy or
     * the conversion fails, the stored file stands in, which may be missing.
     */
    async provide(image: ImageRecord, shape: Shape, client: string): Promise<Version> {
      const asStored = { width: null, format: image.format, size: image.size };
      const key = shapeKey(image, shape);
      const known = sizes.get(key);
      if (known !== undefined) return known === 0 ? asStored : { ...shape, size: known };
      if (elapsedSince(failed.get(key) ?? null, now(), 0) < RETRY_MS) return { ...asStored, isStopgap: true };
      const running = making.get(key) ?? make(image, shape, key, client).finally(() => making.delete(key));
      making.set(key, running);
      try {
        const size = await running;
        sizes.set(key, size);
        return size === 0 ? asStored : { ...shape, size };
      } catch (error) {
        // A client that may see the picture gets one, also where the worker has failed, which the codec has logged.
        if (error instanceof AppError && error.code === 'not_found') throw error;
        if (error instanceof AppError && LASTING.includes(error.code)) failed.set(key, now());
        return { ...asStored, isStopgap: true };
      }
    },

    // What has removed it has discounted it, or else the next sweep counts without it.
    /** Must be called when a version is missing. */
    forget: (key: string) => void sizes.delete(key),

    /** Must be called before a version is removed, which any copy of the server may have made. Never rejects. */
    async discount(key: string): Promise<void> {
      const size = sizes.get(key) ?? (await blobs.stat(key).catch(() => null))?.size ?? 0;
      sizes.delete(key);
      await bytes.add(-size);
    },
  };
}

/** Other shapes of stored images, created on first request. */
export type Thumbnails = ReturnType<typeof createThumbnails>;

/**
 * Returns the width that `?w=` asks for, or `null` for the stored image: images are never scaled up.
 * @throws {AppError} `invalid_parameter` for a width that is not offered.
 */
export function thumbnailWidth(asked: string | null, image: Pick<ImageRecord, 'width'>): number | null {
  if (asked === null || asked === '') return null;
  const width = THUMBNAIL_WIDTHS.find((offered) => String(offered) === asked);
  if (width === undefined)
    throw invalidField('w', message('must be one of {choices}', { choices: THUMBNAIL_WIDTHS.join(', ') }));
  return width < image.width ? width : null;
}

/** State key: bytes of all smaller versions. */
const KEY = 'image-version-bytes';

/**
 * Counts the bytes of the smaller versions. Each sweep recounts them, because concurrent additions by several copies
 * of the server may be missed.
 */
export function createVersionBytes(state: Pick<StateStore, 'get' | 'set'>) {
  let last = Promise.resolve();
  const total = async () => Number((await state.get(KEY)) ?? 0);
  const set = (bytes: number) => state.set(KEY, String(Math.max(0, Math.round(bytes))));
  return {
    total,
    /** Adds bytes; a negative number subtracts. Never rejects. */
    add(bytes: number): Promise<void> {
      if (bytes !== 0) last = last.then(async () => set((await total()) + bytes)).catch(() => {});
      return last;
    },
    /** Replaces the count. */
    recount: set,
  };
}
