import type { ImageRecord } from '../../src/image/image.ts';
import type { ImageStore, Page, PageQuery } from '../../src/image/store.ts';
import { createAnswerCache } from '../../src/lib/answer-cache.ts';

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

/**
 * Returns the store with cached pages, which are kept for a second or until this copy writes: concurrent requests for
 * one page ask the server once. Failures are not cached. `now` in ms; only differences count.
 */
export function withKeptLists(store: ImageStore, now: () => number = () => performance.now()): ImageStore {
  const pages = createAnswerCache<Page<ImageRecord>>({ lifeMs: LIFE_MS, most: MAX_PAGES, now });

  function list(query: PageQuery): Promise<Page<ImageRecord>> {
    const { text = '', after, offset, limit } = query;
    const key = JSON.stringify([text, after?.createdAt, after?.id, offset, limit]);
    return pages.get(key, () => store.list(query));
  }

  return { ...onWrites(store, pages.clear), list };
}
