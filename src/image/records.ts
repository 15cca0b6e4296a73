import { BoundedMap } from '../lib/bounded-map.ts';
import type { ImageRecord } from './image.ts';
import type { ImageStore } from './store.ts';

/** How long another copy of the server may keep showing an image that was deleted here, in ms. */
const LIFE_MS = 2000;
/** Some 5 MB at most. */
const MAX_ENTRIES = 5000;

/** Caches recently read records, so that a popular image costs no call of the store. */
export interface RecordCache {
  /** Returns the record if it is cached. */
  cached(id: string): ImageRecord | undefined;
  get(id: string): Promise<ImageRecord | null>;
  /** Must be called after the record was changed or removed. */
  forget(id: string): void;
}

export function createRecordCache(images: Pick<ImageStore, 'get'>, now: () => number): RecordCache {
  const entries = new BoundedMap<string, { record: ImageRecord; at: number }>(MAX_ENTRIES);
  /** Incremented whenever anything is forgotten: records read meanwhile may be out of date. */
  let changes = 0;
  /** Reads in progress. Concurrent requests for one image ask the store once. */
  const reads = new Map<string, Promise<ImageRecord | null>>();

  function cached(id: string): ImageRecord | undefined {
    const entry = entries.get(id);
    // A clock that is set back must not extend this.
    return entry && Math.abs(now() - entry.at) < LIFE_MS ? entry.record : undefined;
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

  return {
    cached,
    async get(id) {
      const kept = cached(id);
      if (kept) return kept;
      entries.delete(id);
      return shared(id);
    },
    forget(id) {
      changes++;
      entries.delete(id);
      reads.delete(id);
    },
  };
}
