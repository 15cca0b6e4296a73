import { cachedFor } from '../../lib/answer-cache.ts';
import { ALIKE_BITS, countBits, halvesOf } from '../../lib/bits.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageStore } from '../store.ts';

/** How long it may miss what other copies of the server have stored, in ms. */
const BELIEVED_MS = 60_000;
const ID_BYTES = 12;
const FIRST_CAPACITY = 1024;

/** A similar image. */
export interface Likeness {
  image: ImageRecord;
  /** Number of the 64 bits that differ. */
  distance: number;
}

export function createLookIndex(images: Pick<ImageStore, 'looks' | 'get'>, now: () => number) {
  async function read() {
    const table = createTable();
    for await (const batch of images.looks()) for (const [id, phash] of batch) table.add(id, phash);
    return table;
  }

  const current = cachedFor(BELIEVED_MS, now, read);

  return {
    /** Returns how many images look like this, without reading their records. */
    count: async (phash: string) =>
      (await current()).near(phash, ALIKE_BITS, Number.POSITIVE_INFINITY).length,

    /**
     * Returns images that look like this one, the most similar first; none if there is little to see on it. The first
     * call, and later ones a minute after the last, read the hashes of all images into memory, 20 bytes each.
     */
    async alike({ phash }: Pick<ImageRecord, 'phash'>, limit: number): Promise<Likeness[]> {
      if (phash === null) return [];
      const near = (await current()).near(phash, ALIKE_BITS, limit);
      const found = await Promise.all(
        near.map(async ({ id, distance }) => ({ image: await images.get(id), distance })),
      );
      return found.flatMap(({ image, distance }) => (image === null ? [] : [{ image, distance }]));
    },
  };
}

/** Finds similar images. */
export type LookIndex = ReturnType<typeof createLookIndex>;

/** Perceptual hashes in typed arrays: a million are searched in some milliseconds. */
export function createTable() {
  let count = 0;
  let high = new Uint32Array(FIRST_CAPACITY);
  let low = new Uint32Array(FIRST_CAPACITY);
  let ids = Buffer.alloc(FIRST_CAPACITY * ID_BYTES);

  function grow(): void {
    const before = { high, low, ids };
    high = new Uint32Array(2 * count);
    low = new Uint32Array(2 * count);
    ids = Buffer.alloc(2 * count * ID_BYTES);
    high.set(before.high);
    low.set(before.low);
    ids.set(before.ids);
  }

  return {
    /** `id`: twelve letters and digits. */
    add(id: string, phash: string): void {
      if (count === high.length) grow();
      const [above, below] = halvesOf(phash);
      high[count] = above;
      low[count] = below;
      ids.write(id, count * ID_BYTES, ID_BYTES, 'latin1');
      count++;
    },

    /** Returns the IDs of images that differ in at most `mostBits` bits, the nearest first. */
    near(phash: string, mostBits: number, limit: number) {
      const [above, below] = halvesOf(phash);
      const found: { id: string; distance: number }[] = [];
      for (let place = 0; place < count; place++) {
        const distance = countBits((high[place] ?? 0) ^ above) + countBits((low[place] ?? 0) ^ below);
        if (distance > mostBits) continue;
        const at = place * ID_BYTES;
        found.push({ id: ids.toString('latin1', at, at + ID_BYTES), distance });
      }
      return found.sort((one, other) => one.distance - other.distance).slice(0, limit);
    },
  };
}
