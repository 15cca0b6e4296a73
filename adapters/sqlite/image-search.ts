import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Database } from './database.ts';
import { type Pattern, patternOf, type Searched, searchedText, shortWords } from './search-text.ts';

/**
 * The search of the public images: two indexes whose row ids are the positions of the list, so that matches come in its
 * order. Images below a mark are not in them yet (they are older than the indexes) and are read one by one; `build` moves
 * the mark down. All that changes the indexes is to be called in the transaction that changes the images.
 */
export interface ImageSearch {
  add(position: number, image: Searched): void;
  remove(position: number): void;
  /** To be called after the image was moved. */
  move(from: number, to: number): void;
  /** Up to `most` positions of matches below a position, newest first. Other work gets its turn meanwhile. */
  find(text: string, below: number, most: number): Promise<number[]>;
  /** Whether all images are in the indexes. */
  isBuilt(): boolean;
  /** Brings all images into the indexes, and lets other work have half of the time. */
  build(signal: AbortSignal): Promise<void>;
}

/** Images in one step, some 5 ms: `read` by a search, `added` to the indexes. */
export interface SearchSteps {
  read: number;
  added: number;
}
const STEPS: SearchSteps = { read: 500, added: 100 };

/** The images that every list and search is about. It is the condition of an index, so that it must be written in this way. */
export const LISTED = 'password_hash IS NULL AND unlisted = 0';

/** A search lets other work have its turn after this time in ms. */
const TURN_MS = 8;

interface Position {
  pos: number;
}

export function createImageSearch(database: Database, steps = STEPS): ImageSearch {
  const getMark = database.prepare<{ below: number }>('SELECT below FROM image_index');
  const setMark = database.prepare('UPDATE image_index SET below = ?');
  const byPosition = database.prepare<Searched>(
    `SELECT id, filename, format FROM images WHERE pos = ? AND ${LISTED}`,
  );
  const older = database.prepare<Position>(
    `SELECT pos FROM images INDEXED BY images_listed WHERE pos < ? AND ${LISTED}
     ORDER BY pos DESC LIMIT ?`,
  );
  const addText = database.prepare('INSERT INTO image_text (rowid, text) VALUES (?, ?)');
  const addShort = database.prepare('INSERT INTO image_short (rowid, words) VALUES (?, ?)');
  const removeText = database.prepare('DELETE FROM image_text WHERE rowid = ?');
  const removeShort = database.prepare('DELETE FROM image_short WHERE rowid = ?');
  const between = (table: Pattern['table']) =>
    database.prepare<Position>(
      // A runtime may bind numbers as reals, and an FTS5 table reads all rows where the limits of its walk are reals.
      `SELECT rowid AS pos FROM ${table}
       WHERE ${table} MATCH ? AND rowid < CAST(? AS INTEGER) AND rowid >= CAST(? AS INTEGER)
       ORDER BY rowid DESC LIMIT ?`,
    );

  /** Images below are not in the indexes. */
  const mark = () => getMark.get()?.below ?? 0;

  function put(position: number, image: Searched): void {
    const text = searchedText(image);
    addText.run(position, text);
    addShort.run(position, shortWords(text));
  }

  function drop(position: number): void {
    removeText.run(position);
    removeShort.run(position);
  }

  function contains({ pos }: Position, { folded }: Pattern): boolean {
    const image = byPosition.get(pos);
    return image !== null && searchedText(image).includes(folded);
  }

  function buildStep(): boolean {
    return database.transaction(() => {
      const images = older.all(mark(), steps.added);
      // Row ids that ascend are written together, those that descend one by one.
      for (const { pos } of images.toReversed()) {
        const image = byPosition.get(pos);
        if (image) put(pos, image);
      }
      setMark.run(images.length < steps.added ? 0 : (images.at(-1)?.pos ?? 0));
      return mark() === 0;
    });
  }

  return {
    add(position, image) {
      if (position >= mark()) put(position, image);
    },

    remove(position) {
      if (position >= mark()) drop(position);
    },

    move(from, to) {
      const known = mark();
      if (from >= known) drop(from);
      const image = to >= known ? byPosition.get(to) : null;
      if (image) put(to, image);
    },

    isBuilt: () => mark() === 0,

    async find(text, below, most) {
      const found: number[] = [];
      const pattern = patternOf(text);
      if (!pattern) return found;
      const query = between(pattern.table);
      let upper = below;
      let turnAt = performance.now();
      while (found.length < most && upper > 0) {
        const known = mark();
        const left = most - found.length;
        const limit = upper > known && pattern.exact ? left : steps.read;
        const rows = upper > known ? query.all(pattern.match, upper, known, limit) : older.all(upper, limit);
        const matches = upper > known && pattern.exact ? rows : rows.filter((row) => contains(row, pattern));
        for (const { pos } of matches.slice(0, left)) found.push(pos);
        const end = upper > known ? known : 0;
        upper = rows.length < limit ? end : (rows.at(-1)?.pos ?? end);
        if (performance.now() - turnAt < TURN_MS) continue;
        await setImmediate();
        turnAt = performance.now();
      }
      return found;
    },

    async build(signal) {
      for (let done = mark() === 0; !done && !signal.aborted; ) {
        const startedAt = performance.now();
        done = buildStep();
        await setTimeout(performance.now() - startedAt);
      }
    },
  };
}
