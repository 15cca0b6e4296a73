import { createHash, randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Stores } from '../../adapters/open.ts';
import { MEDIA_TYPES } from '../codec/format.ts';
import { AppError } from '../errors.ts';
import type { ImageRecord } from '../image/image.ts';
import { originalKey, ownerOfKey } from '../image/records/blob-keys.ts';
import { heldKey, readReviews } from '../image/review/reviews.ts';
import type { BlobStore } from '../image/store.ts';
import { batches } from '../lib/batches.ts';
import { forEachBounded } from '../lib/for-each-bounded.ts';
import { formatCount } from '../lib/format.ts';
import { copyState } from './copy-records.ts';

const PAGE = 500;
const FILES_AT_ONCE = 8;
/** For a backup, whose records are new: a disk that needs a second for each sync then syncs a few times. */
const LIVE_PAGE = 5000;
/** More, because a store syncs all that wait at once. */
const RECORDS_AT_ONCE = 64;

interface ImagesCopied {
  seen: number;
  copied: number;
  bytes: number;
  /** As sentences. */
  faults: string[];
  /** As sentences: pictures that have no intact file in the old store, nor in the new one. */
  lost: string[];
}

/** Where images are copied to; `null`: that part stays where it is. */
export interface ImageTarget {
  metadata: Pick<Stores, 'images'> | null;
  blobs: BlobStore | null;
}

/**
 * Copies each file and then its record, so that a record in the new store has its file. If the old store has lost that,
 * the record is copied alone: the file may come back, as from a disk that was not mounted. Existing files are skipped;
 * with `verify` their SHA-256 is compared first. Records that changed since they were copied are replaced.
 * `live`: all records are new there, so only files count as copied, and a file that had to be replaced is a fault.
 * `folder`: for temporary files.
 */
export async function copyImages(
  from: Pick<Stores, 'images' | 'blobs'>,
  to: ImageTarget,
  { verify, live, folder }: { verify: boolean; live: boolean; folder: string },
  onSeen: (seen: number, bytes: number) => void,
): Promise<ImagesCopied> {
  const result: ImagesCopied = { seen: 0, copied: 0, bytes: 0, faults: [], lost: [] };
  for await (const records of everyImage(from, to.metadata, live ? LIVE_PAGE : PAGE)) {
    const ids = records.map(({ id }) => id);
    const known = to.metadata === null ? new Map() : await to.metadata.images.getMany(ids);
    const moved = new Map<ImageRecord, number>();
    await forEachBounded(records, FILES_AT_ONCE, async (image) => {
      const { blobs } = to;
      const key = originalKey(image);
      const wasThere = live && verify && (await blobs?.stat(key))?.size === image.size;
      try {
        const file = { from: from.blobs, key, folder, verify };
        const bytes = blobs === null ? 0 : await copyFile(image, { ...file, to: blobs });
        moved.set(image, bytes);
        if (wasThere && bytes > 0)
          result.faults.push(`image ${image.id} is not intact in the backup; it has been replaced`);
      } catch (error) {
        if (!(error instanceof CopyFault)) throw error;
        // It was deleted meanwhile.
        if (!wasThere && (await from.images.get(image.id)) === null) return;
        const isLost = error instanceof LostFault;
        if (isLost) moved.set(image, 0);
        const also = wasThere ? 'is not intact in the backup, and cannot be replaced: it ' : '';
        (isLost ? result.lost : result.faults).push(`image ${image.id} ${also}${error.message}`);
      }
    });
    await forEachBounded(moved, live ? LIVE_PAGE : RECORDS_AT_ONCE, async ([image, bytes]) => {
      const added = to.metadata !== null && (await put(to.metadata.images, image, known.get(image.id)));
      if (bytes > 0 || (added && !live)) result.copied++;
      result.bytes += bytes;
    });
    result.seen += records.length;
    onSeen(result.seen, result.bytes);
  }
  return result;
}

/**
 * Copies secrets, blocks and other values, among them the pictures in review, with the files of these, and removes what is
 * gone since they were copied. Call it before `copyImages`: what is approved in between is in both. Returns how many there are.
 */
export async function copyValues(
  from: Pick<Stores, 'state' | 'blobs'>,
  to: { state: Stores['state'] | null; blobs: BlobStore | null },
  options: { verify: boolean; live: boolean; folder: string },
): Promise<Pick<ImagesCopied, 'seen' | 'faults' | 'lost'> & { values: number }> {
  // Older backups share the files. Without its file, a record in the new store lets an interrupted copy be repeated.
  const before = to.state === null || options.live ? [] : await readReviews(to.state);
  const ids = new Set((await readReviews(from.state)).map(({ id }) => id));
  for (const image of before) if (!ids.has(image.id)) await to.blobs?.remove(heldKey(image));
  const values = to.state === null ? 0 : await copyState(from.state, to.state);
  const held = await readReviews(to.state ?? from.state);
  const result = { seen: held.length, faults: [] as string[], lost: [] as string[], values };
  const { blobs } = to;
  if (blobs === null) return result;
  for (const image of held) {
    try {
      await copyFile(image, { from: from.blobs, to: blobs, key: heldKey(image), ...options });
    } catch (error) {
      if (!(error instanceof CopyFault)) throw error;
      // It was decided meanwhile.
      if (!(await readReviews(from.state)).some(({ id }) => id === image.id))
        return copyValues(from, to, options);
      const said = `image ${image.id}, in review, ${error.message}`;
      (error instanceof LostFault ? result.lost : result.faults).push(said);
    }
  }
  return result;
}

/**
 * Removes from the new stores what was deleted from the old ones after it was copied. Returns how many images, and those
 * that are only in the new stores: they were deleted longer ago than the old ones know, or are new there.
 */
export async function removeDeleted(
  from: Pick<Stores, 'images'>,
  to: { metadata: Pick<Stores, 'images'>; blobs: BlobStore | null },
): Promise<{ removed: number; alone: string[] }> {
  let removed = 0;
  const alone: string[] = [];
  for await (const records of pages(to.metadata.images)) {
    const ids = records.map(({ id }) => id);
    const [buried, known] = [await from.images.buried(ids), await from.images.existing(ids)];
    alone.push(...ids.filter((id) => !buried.has(id) && !known.has(id)));
    for (const image of records) {
      if (known.has(image.id) || !buried.has(image.id) || !(await to.metadata.images.remove(image.id)))
        continue;
      await to.blobs?.remove(originalKey(image));
      removed++;
    }
  }
  return { removed, alone };
}

/** A fault of one image, which does not affect the others. */
class CopyFault extends Error {}

/** The old store has no intact file, so repeating does not help. */
class LostFault extends CopyFault {}

/**
 * Returns all records in batches. An access moves a record within their order, so one that a running server touches can be
 * passed over; those whose file exists, but that have not been copied, come at the end.
 */
async function* everyImage(
  from: Pick<Stores, 'images' | 'blobs'>,
  to: ImageTarget['metadata'],
  size: number,
): AsyncGenerator<ImageRecord[]> {
  yield* pages(from.images, size);
  if (to === null) return;
  for await (const files of from.blobs.list()) {
    const ids = files.map(({ key }) => ownerOfKey(key)).flatMap((owner) => (owner?.original ? owner.id : []));
    const known = await to.images.existing(ids);
    const missing = ids.filter((id) => !known.has(id));
    const records = missing.length > 0 ? await from.images.getMany(missing) : new Map<string, ImageRecord>();
    if (records.size > 0) yield [...records.values()];
  }
}

/** Returns all records in batches, the latest access first. */
function pages(images: Pick<Stores['images'], 'recent'>, size = PAGE): AsyncGenerator<ImageRecord[]> {
  return batches(size, (after?: ImageRecord) =>
    images.recent({ offset: 0, limit: size, ...(after && { after }) }),
  );
}

/** Makes the record in the new store equal to `image`, but keeps later accesses and views there. Returns false if it was. */
async function put(
  images: Stores['images'],
  image: ImageRecord,
  known: ImageRecord | undefined,
): Promise<boolean> {
  if (known === undefined) return add(images, image);
  const wanted = { ...image, ...used(image, known) };
  if (isDeepStrictEqual(known, wanted)) return false;
  if (isDeepStrictEqual({ ...known, lastAccess: wanted.lastAccess }, wanted)) {
    await images.touch(new Map([[image.id, wanted.lastAccess]]));
    return true;
  }
  // No other method sets everything. An interrupted copy adds the record when it is continued.
  await images.remove(image.id);
  return add(images, wanted);
}

/** What changes when a picture is viewed: the later access of two records, and the fewer views left. */
function used(one: ImageRecord, other: ImageRecord): Pick<ImageRecord, 'lastAccess' | 'viewsLeft'> {
  const viewsLeft = Math.min(one.viewsLeft ?? Infinity, other.viewsLeft ?? Infinity);
  return {
    lastAccess: Math.max(one.lastAccess, other.lastAccess),
    viewsLeft: one.viewsLeft === null ? null : viewsLeft,
  };
}

/** Compares all records of both stores, but for accesses and views. Returns a sentence for each that differs. */
export async function compareImages(
  from: Pick<Stores, 'images'>,
  to: Pick<Stores, 'images'>,
): Promise<string[]> {
  const faults: string[] = [];
  let [seen, there] = [0, 0];
  for await (const records of pages(from.images)) {
    const known = await to.images.getMany(records.map(({ id }) => id));
    seen += records.length;
    there += known.size;
    for (const image of records) {
      const other = known.get(image.id);
      if (other === undefined) continue;
      const wanted = { ...image, ...used(other, other) };
      const names = Object.entries(wanted).flatMap(([name, value]) =>
        isDeepStrictEqual(value, other[name as keyof ImageRecord]) ? [] : name,
      );
      if (names.length > 0) faults.push(`image ${image.id} has another ${names.join(', ')} in the new store`);
    }
  }
  if (there < seen) faults.push(`${formatCount(there)} of ${formatCount(seen)} images are in the new store`);
  return faults;
}

async function add(images: Stores['images'], image: ImageRecord): Promise<boolean> {
  try {
    await images.insert(image);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'conflict') return false;
    throw error;
  }
}

type Way = { from: BlobStore; to: BlobStore; key: string; folder: string; verify: boolean };

/**
 * Copies the file of an image. Replaces another only once a good one has been read.
 * Returns the number of bytes copied; 0 if the file already exists, because files are published whole or not at all.
 * @throws {CopyFault} if there is no good file to copy, or it cannot be read back.
 */
async function copyFile(image: ImageRecord, { from, to, key, folder, verify }: Way): Promise<number> {
  const isGood = async () => (await hashOf(to, key)) === image.hash;
  const isThere = (await to.stat(key))?.size === image.size;
  // Nothing is copied if it was only read wrongly.
  if (isThere && (!verify || (await isGood()) || (await isGood()))) return 0;
  const path = join(folder, randomUUID());
  try {
    // An approval that was interrupted, or goes on now, has moved the file of a picture in review.
    const found = (await hashOf(from, key, path)) ?? (await hashOf(from, originalKey(image), path));
    if (found === null) throw new LostFault('has no file');
    if (found !== image.hash)
      throw new LostFault('has a file that differs from what was stored: the SHA-256 does not match');
    await to.put(key, path, MEDIA_TYPES[image.format]);
  } finally {
    await rm(path, { force: true });
  }
  if (!(await isGood())) {
    await to.remove(key);
    throw new CopyFault('cannot be read back from the new store unchanged');
  }
  return image.size;
}

/** Returns the SHA-256 of a file in a store, `null` if there is none, and can write it to `path` at the same time. */
export async function hashOf(
  blobs: Pick<BlobStore, 'get'>,
  key: string,
  path?: string,
): Promise<string | null> {
  const body = await blobs.get(key);
  if (body === null) return null;
  return digest(body instanceof Blob ? body.stream() : body, path).catch(async (cause) => {
    // It was removed after the store had found it.
    if ((await blobs.get(key)) === null) return null;
    throw cause;
  });
}

/** Returns the SHA-256 of the bytes, and can write them to a file at the same time. */
export async function digest(bytes: AsyncIterable<Uint8Array>, path?: string): Promise<string> {
  const hash = createHash('sha256');
  const file = path === undefined ? null : await open(path, 'w');
  try {
    for await (const piece of bytes) {
      hash.update(piece);
      await file?.writeFile(piece);
    }
  } finally {
    await file?.close();
  }
  return hash.digest('hex');
}
