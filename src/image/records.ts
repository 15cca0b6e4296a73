import { BoundedMap } from '../lib/bounded-map.ts';
import type { ImageRecord } from './image.ts';
import type { ImageStore } from './store.ts';

/** How long another copy of the server may go on showing an image that was deleted here, in ms. */
const LIFE_MS = 2000;
/** Some 5 MB at most. */
const MAX_ENTRIES = 5000;

/** Records that were asked for lately, so that a much-viewed image costs no call of the store. */
export interface RecordCache {
  /** The record, if it is at hand. */
  cached(id: string): ImageRecord | undefined;
  get(id: string): Promise<ImageRecord | null>;
  /** To be called after the record has changed or gone. */
  forget(id: string): void;
}

export function createRecordCache(images: Pick<ImageStore, 'get'>, now: () => number): RecordCache {
  const entries = new BoundedMap<string, { record: ImageRecord; at: number }>(MAX_ENTRIES);
  /** Grows when anything is forgotten: what was being read meanwhile may be out of date. */
  let changes = 0;
  /** What is being read: however many ask for one image, the store is asked once. */
  const reads = new Map<string, Promise<ImageRecord | null>>();

  function cached(id: string): ImageRecord | undefined {
    const entry = entries.get(id);
    // A clock that is set back must not keep a record for longer.
    return entry && Math.abs(now() - entry.at) < LIFE_MS ? entry.record : undefined;
  }

  async function read(id: string): Promise<ImageRecord | null> {
    const seen = changes;
    const record = await images.get(id);
    // The views that are left change with each of them, on any copy.
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
