import { BoundedMap } from '../../lib/bounded-map.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageStore } from '../store.ts';
import { isOver } from './audience.ts';
import { ID_PATTERN } from './ids.ts';
import { gone, notFound } from './missing.ts';

/** How long another copy of the server may keep showing an image that was deleted here, in ms. */
const LIFE_MS = 2000;
/** Some 5 MB at most. */
const MAX_ENTRIES = 5000;

export function createRecordCache(images: Pick<ImageStore, 'get' | 'hasEnded'>, now: () => number) {
  const entries = new BoundedMap<string, { record: ImageRecord; at: number }>(MAX_ENTRIES);
  /** Incremented whenever anything is forgotten: records read meanwhile may be out of date. */
  let changes = 0;
  /** Reads in progress. Concurrent requests for one image ask the store once. */
  const reads = new Map<string, Promise<ImageRecord | null>>();

  function cached(id: string): ImageRecord | undefined {
    const entry = entries.get(id);
    return entry && elapsedSince(entry.at, now(), 0) < LIFE_MS ? entry.record : undefined;
  }

  async function read(id: string): Promise<ImageRecord | null> {
    const seen = changes;
    const record = await images.get(id);
    // The number of views left changes with each view, on any copy.
    const keeps = record !== null && record.maxViews === null && seen === changes;
    if (keeps) entries.set(id, { record, at: now() });
    return record;
  }

  function shared(id: string): Promise<ImageRecord | null> {
    const running = reads.get(id);
    if (running) return running;
    const reading = read(id).finally(() => {
      if (reads.get(id) === reading) reads.delete(id);
    });
    reads.set(id, reading);
    return reading;
  }

  async function get(id: string): Promise<ImageRecord | null> {
    const kept = cached(id);
    if (kept) return kept;
    entries.delete(id);
    return shared(id);
  }

  return {
    /** Returns the record if it is cached. */
    cached,
    get,
    /**
     * Returns the record of an image that can be seen. Rejects with `not_found`, or with `gone` if it has expired or
     * has no views left.
     */
    async find(id: string): Promise<ImageRecord> {
      if (!ID_PATTERN.test(id)) throw notFound();
      const image = await get(id);
      if (image ? isOver(image, now()) : await images.hasEnded(id)) throw gone();
      if (image === null) throw notFound();
      return image;
    },
    /** Must be called after the record was changed or removed. */
    forget(id: string): void {
      changes++;
      entries.delete(id);
      reads.delete(id);
    },
  };
}

/** Caches recently read records, so that a popular image costs no call of the store. */
export type RecordCache = ReturnType<typeof createRecordCache>;
