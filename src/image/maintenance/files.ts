import { keyOfStray, ownerOfKey } from '../blob-keys.ts';
import type { BlobInfo, BlobStore } from '../store.ts';

/** A file of an image. */
export interface ImageFile {
  /** Of the image that it belongs to. */
  id: string;
  /** The image itself, and not one of its smaller versions. */
  original: boolean;
  /** Where it belongs; in quarantine `blob.key` is another. */
  key: string;
  blob: BlobInfo;
}

/** The files of images, in batches: those in their places and those in quarantine. Files that are not ours are left out. */
export async function* imageFiles(
  blobs: Pick<BlobStore, 'list'>,
): AsyncGenerator<{ placed: ImageFile[]; quarantined: ImageFile[] }> {
  for await (const batch of blobs.list()) {
    const placed: ImageFile[] = [];
    const quarantined: ImageFile[] = [];
    for (const blob of batch) {
      const origin = keyOfStray(blob.key);
      const key = origin ?? blob.key;
      const owner = ownerOfKey(key);
      if (owner) (origin === null ? placed : quarantined).push({ ...owner, key, blob });
    }
    yield { placed, quarantined };
  }
}

/** Whether there are more than `count` files of images in their places. */
export async function hasMoreThan(count: number, blobs: Pick<BlobStore, 'list'>): Promise<boolean> {
  let found = 0;
  for await (const { placed } of imageFiles(blobs)) {
    found += placed.length;
    if (found > count) return true;
  }
  return false;
}
