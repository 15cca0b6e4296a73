import { ownerOfKey, placeOf, strayKey } from '../records/blob-keys.ts';
import type { BlobInfo, BlobStore, ByteRange } from '../store.ts';

/** A file of an image. */
export interface ImageFile {
  id: string;
  /** True for the image itself, false for a smaller version. */
  original: boolean;
  /** The key where it belongs. In quarantine, `blob.key` differs. */
  key: string;
  blob: BlobInfo;
}

type FilesByPlace = Record<'placed' | 'quarantined' | 'held', ImageFile[]>;

/** Returns the files of images in batches, without files that are not ours. */
export async function* imageFiles(blobs: Pick<BlobStore, 'list'>): AsyncGenerator<FilesByPlace> {
  for await (const batch of blobs.list()) {
    const files: FilesByPlace = { placed: [], quarantined: [], held: [] };
    for (const blob of batch) {
      const [place, key] = placeOf(blob.key);
      const owner = ownerOfKey(key);
      if (owner) files[place].push({ ...owner, key, blob });
    }
    yield files;
  }
}

/**
 * Returns a file of an image, or `null`. Takes it out of quarantine if it is there, because its record was only
 * missing for a while.
 */
export async function readPlaced(
  blobs: Pick<BlobStore, 'get' | 'move'>,
  key: string,
  ...which: [range?: ByteRange, size?: number]
): ReturnType<BlobStore['get']> {
  const body = await blobs.get(key, ...which);
  if (body !== null || !(await blobs.move(strayKey(key), key))) return body;
  return blobs.get(key, ...which);
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
