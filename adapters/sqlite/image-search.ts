import { setImmediate } from 'node:timers/promises';
import { createSearchIndex, type OpenSizes, type SearchIndex } from '../../src/lib/search/search-index.ts';
import type { Database } from './database.ts';

/** The public images as an index in this process: read when it is first used, then kept up to date by the log of changes. */
export interface ImageSearch {
  /** Runs the work with an index of exactly the images that the work reads. */
  run<T>(work: (index: SearchIndex) => T): Promise<T>;
}

/** `step`: images or changes that are read before other work gets its turn, about 5 ms. */
export interface SearchSizes {
  step: number;
  open?: OpenSizes;
}
const SIZES: SearchSizes = { step: 1000 };

interface Followed {
  index: SearchIndex;
  /** The last change that the index knows. */
  place: number;
}

interface Listed {
  id: string;
  filename: string;
  format: string;
  createdAt: number;
}

export function createImageSearch(database: Database, { step, open } = SIZES): ImageSearch {
  const ends = database.prepare<{ first: number; last: number }>(
    // Two queries, as SQLite finds only one end of an index at a time without reading all between.
    `SELECT ifnull((SELECT min(seq) FROM image_log), 0) AS first,
       ifnull((SELECT max(seq) FROM image_log), 0) AS last`,
  );
  const changes = database.prepare<
    { seq: number; id: string; removed: number } & (Listed | { createdAt: null })
  >(
    `SELECT seq, image_log.id, removed, filename, format, created_at AS createdAt FROM image_log
     LEFT JOIN images ON images.id = image_log.id AND password_hash IS NULL
     WHERE seq > ? ORDER BY seq LIMIT ${step}`,
  );
  const next = database.prepare<Listed & { pos: number }>(
    `SELECT pos, id, filename, format, created_at AS createdAt FROM images
     WHERE pos > ? AND password_hash IS NULL ORDER BY pos LIMIT ${step}`,
  );
  let current: Followed | null = null;
  let loading: Promise<Followed> | null = null;

  function add(index: SearchIndex, { id, filename, format, createdAt }: Listed): void {
    index.add({ id, createdAt, fields: [filename, format] });
  }

  /** An image whose position changes meanwhile moves up, so that it may be read twice, but is not missed. */
  async function load(): Promise<Followed> {
    const place = ends.get()?.last ?? 0;
    const index = createSearchIndex(open);
    let pos = Number.MIN_SAFE_INTEGER;
    for (;;) {
      const images = next.all(pos);
      for (const image of images) add(index, image);
      const last = images.at(-1);
      if (!last) return { index, place };
      pos = last.pos;
      await setImmediate();
    }
  }

  /** Takes over a step of changes; false where there are more, `null` where some are no longer in the log. */
  function follow(followed: Followed): boolean | null {
    if (followed.place < (ends.get()?.first ?? 0) - 1) return null;
    const rows = changes.all(followed.place);
    for (const row of rows) {
      if (row.removed) followed.index.remove(row.id);
      else if (row.createdAt !== null) add(followed.index, row);
      followed.place = row.seq;
    }
    return rows.length < step;
  }

  return {
    async run(work) {
      for (;;) {
        if (!current) {
          loading ??= load().finally(() => {
            loading = null;
          });
          current = await loading;
        }
        const followed = current;
        const done = database.snapshot(() => {
          const complete = follow(followed);
          if (complete === null && current === followed) current = null;
          return complete ? { result: work(followed.index) } : null;
        });
        if (done) return done.result;
        await setImmediate();
      }
    },
  };
}
