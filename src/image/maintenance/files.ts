import { HELD, keyOfStray, ownerOfKey, strayKey } from '../records/blob-keys.ts';
import type { BlobInfo, BlobStore, ByteRange } from '../store.ts';

/** A file of an image. */
export interface ImageFile {
  /** ID of the image that it belongs to. */
  id: string;
  /** True for the image itself, false for a smaller version. */
  original: boolean;
  /** The key where it belongs. In quarantine, `blob.key` differs. */
  key: string;
  blob: BlobInfo;
}

/** Returns the files of images in batches: those in place, in quarantine and in review, without files that are not ours. */
export async function* imageFiles(
  blobs: Pick<BlobStore, 'list'>,
): AsyncGenerator<Record<'placed' | 'quarantined' | 'held', ImageFile[]>> {
  for await (const batch of blobs.list()) {
    const placed: ImageFile[] = [];
    const quarantined: ImageFile[] = [];
    const held: ImageFile[] = [];
    for (const blob of batch) {
      const isHeld = blob.key.startsWith(HELD);
      const origin = isHeld ? blob.key.slice(HELD.length) : keyOfStray(blob.key);
      const key = origin ?? blob.key;
      const owner = ownerOfKey(key);
      if (owner) (isHeld ? held : origin === null ? placed : quarantined).push({ ...owner, key, blob });
    }
    yield { placed, quarantined, held };
  }
}

/**
 * Returns a file of an image, or `null`. Takes it out of quarantine if it is there, because its record was only
 * missing for a while.
 */
export async function readPlaced(
  blobs: Pick<BlobStore, 'get' | 'move'>,
  key: string,
  range?: ByteRange,
): ReturnType<BlobStore['get']> {
  const body = await blobs.get(key, range);
  if (body !== null || !(await blobs.move(strayKey(key), key))) return body;
  return blobs.get(key, range);
}

/** Reports whether more than `count` files of images are in place, counting those that `which` selects. */
export async function hasMoreThan(
  count: number,
  blobs: Pick<BlobStore, 'list'>,
  which: (files: ImageFile[]) => Promise<ImageFile[]> = async (files) => files,
): Promise<boolean> {
  let found = 0;
  for await (const { placed } of imageFiles(blobs)) {
    found += (await which(placed)).length;
    if (found > count) return true;
  }
  return false;
}
