import { setImmediate, setTimeout } from 'node:timers/promises';
import {
  containsAll,
  FIELD_END,
  needlesOf,
  type Searched,
  searchedText,
} from '../../src/image/records/searched.ts';
import type { Database } from './database.ts';

/** Number of images in one step. */
export interface SearchSteps {
  /** Images that are not indexed yet, read by a search. */
  read: number;
  /** Matches of a part of the text, for each of which the index starts over. */
  tried: number;
  /** Images added to the indexes, which takes some 5 ms. */
  added: number;
}
const STEPS: SearchSteps = { read: 500, tried: 5000, added: 100 };

/** The images in lists and searches. It is the condition of an index, so it must be written exactly like this. */
export const LISTED = 'password_hash IS NULL AND unlisted = 0';

/** A search yields to other work after this time in ms. */
const TURN_MS = 8;

interface Position {
  pos: number;
}

export function createImageSearch(database: Database, steps = STEPS) {
  const getMark = database.prepare<{ below: number }>('SELECT below FROM image_index');
  const setMark = database.prepare('UPDATE image_index SET below = ?');
  const byPosition = database.prepare<Searched>(
    `SELECT id, filename, format, title, alt FROM images WHERE pos = ? AND ${LISTED}`,
  );
  const older = database.prepare<Position>(
    `SELECT pos FROM images INDEXED BY images_listed WHERE pos < ? AND ${LISTED}
     ORDER BY pos DESC LIMIT ?`,
  );
  const addText = database.prepare('INSERT INTO image_text (rowid, text) VALUES (?, ?)');
  const addShort = database.prepare('INSERT INTO image_short (rowid, words) VALUES (?, ?)');
  const removeText = database.prepare('DELETE FROM image_text WHERE rowid = ?');
  const removeShort = database.prepare('DELETE FROM image_short WHERE rowid = ?');
  // A runtime may bind numbers as reals, and with real limits an FTS5 table reads all rows. One text of all positions
  // crosses to another thread ten times as fast as rows. Without the sign before a row ID, the first index would be asked
  // for each result of the other.
  const indexed = ([table = '', ...others]: readonly string[]) =>
    `SELECT json_group_array(pos) AS positions FROM (
       SELECT rowid AS pos FROM ${table}
       WHERE ${table} MATCH ? AND rowid < CAST(? AS INTEGER) AND rowid >= CAST(? AS INTEGER)
         ${others.map((other) => `AND +rowid IN (SELECT rowid FROM ${other} WHERE ${other} MATCH ?)`).join('')}
       ORDER BY rowid DESC LIMIT ?)`;

  /** Images below this are not indexed. */
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

  /**
   * If all parts of a text are frequent, the index walks along all of them before it finds anything, which takes 300
   * ms.
   */
  async function askIndex(pattern: Pattern, below: number, from: number, most: number): Promise<number[]> {
    const [match, ...others] = pattern.matches.values();
    const query = indexed([...pattern.matches.keys()]);
    const values = [match ?? '', below, from, ...others, most];
    const [row] = await database.readAside<{ positions: string }>(query, ...values);
    return JSON.parse(row?.positions ?? '[]') as number[];
  }

  function contains(position: number, { needles }: Pattern): boolean {
    const image = byPosition.get(position);
    return image !== null && containsAll(searchedText(image), needles);
  }

  function buildStep(): boolean {
    return database.transaction(() => {
      const images = older.all(mark(), steps.added);
      // Ascending row IDs are written together, descending ones one by one.
      for (const { pos } of images.toReversed()) {
        const image = byPosition.get(pos);
        if (image) put(pos, image);
      }
      setMark.run(images.length < steps.added ? 0 : (images.at(-1)?.pos ?? 0));
      return mark() === 0;
    });
  }

  return {
    add(position: number, image: Searched): void {
      if (position >= mark()) put(position, image);
    },

    remove(position: number): void {
      if (position >= mark()) drop(position);
    },

    /** Must be called after the image was moved. */
    move(from: number, to: number): void {
      const known = mark();
      if (from >= known) drop(from);
      const image = to >= known ? byPosition.get(to) : null;
      if (image) put(to, image);
    },

    /** Reports whether all images are indexed. */
    isBuilt: () => mark() === 0,

    /** Returns up to `most` positions of matches below a position, newest first. Other work gets its turn meanwhile. */
    async find(text: string, below: number, most: number): Promise<number[]> {
      const found: number[] = [];
      const pattern = patternOf(text);
      if (!pattern) return found;
      let upper = below;
      let turnAt = performance.now();
      while (found.length < most && upper > 0) {
        const known = mark();
        const isIndexed = upper > known;
        const isSure = isIndexed && pattern.exact;
        const limit = isSure ? most - found.length : isIndexed ? steps.tried : steps.read;
        const positions = isIndexed
          ? await askIndex(pattern, upper, known, limit)
          : older.all(upper, limit).map(({ pos }) => pos);
        for (const position of positions) {
          if (isSure || contains(position, pattern)) found.push(position);
          if (found.length === most) break;
          if (performance.now() - turnAt < TURN_MS) continue;
          await setImmediate();
          turnAt = performance.now();
        }
        const end = isIndexed ? known : 0;
        upper = positions.length < limit ? end : (positions.at(-1) ?? end);
      }
      return found;
    },

    /** Indexes all images, leaving half of the time to other work. */
    async build(signal: AbortSignal): Promise<void> {
      for (let done = mark() === 0; !done && !signal.aborted; ) {
        const startedAt = performance.now();
        done = buildStep();
        await setTimeout(performance.now() - startedAt);
      }
    },
  };
}

/**
 * Searches the public images with two indexes whose row IDs are the positions of the list, so that matches are in its
 * order. Images below a mark are not indexed yet (they are older than the indexes) and are read one by one; `build`
 * moves the mark down. Every change of the indexes must be in the transaction that changes the images.
 */
export type ImageSearch = ReturnType<typeof createImageSearch>;

/** The index has sequences of three characters, so shorter texts are not in it. */
const GRAM = 3;

/**
 * Returns the characters of a text and its pairs of neighbours, each as a word of digits and letters, for searches of
 * one and two characters. The letter z, which is not a base-35 digit, separates two neighbours.
 */
function shortWords(text: string): string {
  let words = '';
  let before = '';
  for (const character of text) {
    const word = character === FIELD_END ? '' : (character.codePointAt(0) ?? 0).toString(35);
    if (word !== '') words += before === '' ? `${word} ` : `${word} ${before}z${word} `;
    before = word;
  }
  return words;
}

/**
 * Maximum number of characters in an index query: if all parts of a text are frequent, its time grows with their
 * number, and it blocks other work.
 */
const MOST_ASKED = 24;

/** How to find a text. */
interface Pattern {
  needles: readonly string[];
  /** The indexes to use, each with its query. */
  matches: ReadonlyMap<'image_text' | 'image_short', string>;
  /** False if a result of the index may lack a word. */
  exact: boolean;
}

/** Returns the pattern of a text, or `null` if nothing can contain it. */
function patternOf(text: string): Pattern | null {
  const needles = needlesOf(text);
  if (needles.length === 0) return null;
  const matches: Pattern['matches'] & Map<string, string> = new Map();
  const [short = [], long = []] = [false, true].map((is) =>
    needles.filter((one) => [...one].length >= GRAM === is),
  );
  // A part of each, because the rare one finds most.
  let room = MOST_ASKED - GRAM * long.length;
  const asked = long.map((needle) => {
    const part = [...needle].slice(0, GRAM + room);
    room -= part.length - GRAM;
    return part.join('');
  });
  if (long.length > 0) matches.set('image_text', inAll(asked));
  // The word of one character, or of its pair.
  const words = short.map((one) => shortWords(one).split(' ')[[...one].length === 1 ? 0 : 2]);
  if (short.length > 0) matches.set('image_short', inAll(words));
  return { needles, matches, exact: asked.join() === long.join() };
}

function inAll(phrases: readonly (string | undefined)[]): string {
  return phrases.map((phrase = '') => `"${phrase.replaceAll('"', '""')}"`).join(' AND ');
}
