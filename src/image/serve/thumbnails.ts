import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, invalidParameter } from '../../errors.ts';
import { originalKey, THUMBNAIL_WIDTHS, thumbnailKey } from '../blob-keys.ts';
import type { Codec } from '../codec/codec.ts';
import { type ImageRecord, MEDIA_TYPES } from '../image.ts';
import type { BlobStore } from '../store.ts';

const MAX_KNOWN_SIZES = 20_000;

/** Smaller versions of stored images, made when they are first asked for. */
export interface Thumbnails {
  /**
   * Makes sure that the version is there and answers its size in bytes. Those who ask at the same time wait for the
   * same conversion, which is the first one's. Rejects with `not_found` where the image's own file is missing, and as the codec does.
   */
  provide(image: ImageRecord, width: number, client: string): Promise<number>;
  /** To be called when a version turned out to be missing, or was removed. */
  forget(key: string): void;
}

export interface ThumbnailOptions {
  blobs: BlobStore;
  codec: Pick<Codec, 'convert'>;
  /** Folder for temporary files. */
  folder: string;
}

export function createThumbnails({ blobs, codec, folder }: ThumbnailOptions): Thumbnails {
  const sizes = new Map<string, number>();
  const making = new Map<string, Promise<number>>();

  async function make(image: ImageRecord, width: number, key: string, client: string): Promise<number> {
    const stored = await blobs.stat(key);
    if (stored) return stored.size;
    const original = await blobs.get(originalKey(image));
    if (original === null) throw new AppError('not_found', 'There is no such image.');
    const name = randomUUID();
    const input = join(folder, `${name}.in`);
    const output = join(folder, `${name}.out`);
    try {
      await writeBody(input, original);
      const { size } = await codec.convert(
        { input, output, format: image.format, stripExif: true, maxWidth: width },
        { client, purpose: 'version' },
      );
      await blobs.put(key, output, MEDIA_TYPES[image.format]);
      return size;
    } finally {
      await Promise.all([rm(input, { force: true }), rm(output, { force: true })]);
    }
  }

  return {
    async provide(image, width, client) {
      const key = thumbnailKey(image, width);
      const known = sizes.get(key);
      if (known !== undefined) return known;
      const running = making.get(key) ?? make(image, width, key, client).finally(() => making.delete(key));
      making.set(key, running);
      const size = await running;
      if (sizes.size >= MAX_KNOWN_SIZES) sizes.clear();
      sizes.set(key, size);
      return size;
    },
    forget(key) {
      sizes.delete(key);
    },
  };
}

/**
 * The width that `?w=` asks for, or `null` for the image as it is stored: images are never scaled up.
 * @throws {AppError} `invalid_parameter` for a width that is not offered.
 */
export function thumbnailWidth(asked: string | null, image: Pick<ImageRecord, 'width'>): number | null {
  if (asked === null || asked === '') return null;
  const width = THUMBNAIL_WIDTHS.find((offered) => String(offered) === asked);
  if (width === undefined) throw invalidParameter('w', `w must be one of ${THUMBNAIL_WIDTHS.join(', ')}.`);
  return width < image.width ? width : null;
}

async function writeBody(path: string, body: Blob | ReadableStream<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx');
  try {
    for await (const chunk of body instanceof Blob ? body.stream() : body) await file.writeFile(chunk);
  } finally {
    await file.close();
  }
}
