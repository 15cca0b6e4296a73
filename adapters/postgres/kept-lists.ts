import type { ImageRecord } from '../../src/image/image.ts';
import type { ImageStore, Page, PageQuery } from '../../src/image/store.ts';
import { BoundedMap } from '../../src/lib/bounded-map.ts';

/** How long a page is cached, and so how long writes of other copies may be missing. */
const LIFE_MS = 1000;
/** Number of cached pages, of at most a hundred images each. */
const MAX_PAGES = 200;

/** Returns the store, which calls `wrote` after each write that may change a list, whether or not it succeeded. */
export function onWrites(store: ImageStore, wrote: () => void): ImageStore {
  const noted =
    <Args extends unknown[], T>(write: (...args: Args) => Promise<T>) =>
    (...args: Args) =>
      write(...args).finally(wrote);
  return {
    ...store,
    insert: noted(store.insert),
    change: noted(store.change),
    remove: noted(store.remove),
    removeIdle: noted(store.removeIdle),
    removeEnded: noted(store.removeEnded),
    endView: noted(store.endView),
  };
}

interface Kept {
  page: Promise<Page<ImageRecord>>;
  at: number;
}

/**
 * Returns the store with cached pages, which are kept for a second or until this copy writes: concurrent requests for
 * one page ask the server once. Failures are not cached. `now` in ms; only differences count.
 */
export function withKeptLists(store: ImageStore, now: () => number = () => performance.now()): ImageStore {
  const pages = new BoundedMap<string, Kept>(MAX_PAGES);

  function list(query: PageQuery): Promise<Page<ImageRecord>> {
    const { text = '', after, offset, limit } = query;
    const key = JSON.stringify([text, after?.createdAt, after?.id, offset, limit]);
    const kept = pages.get(key);
    if (kept && now() - kept.at < LIFE_MS) return kept.page;
    const page = store.list(query);
    pages.set(key, { page, at: now() });
    page.catch(() => {
      if (pages.get(key)?.page === page) pages.delete(key);
    });
    return page;
  }

  return { ...onWrites(store, () => pages.clear()), list };
}
