import { setImmediate } from 'node:timers/promises';
import type { Database } from './database.ts';

/** The matches of a search, as far as they are remembered. */
export interface Matches {
  total: number;
  /** Positions of the newest matches, newest first. */
  newest: readonly number[];
}

/** The matches of searches, kept up to date as images come and go, so that each text is counted once. */
export interface SearchMatches {
  /** The matches, or `null` while they are not counted. */
  known(text: string): Matches | null;
  /** Counts, in short steps; afterwards they are known. `query` is the text as an FTS5 query. */
  count(text: string, query: string): Promise<void>;
  /** Must be told of every change of the index, after its transaction: the folded fields and the position. */
  changed(delta: 1 | -1, fields: readonly string[], pos: number): void;
}

interface Entry extends Matches {
  newest: number[];
  /** Positions from here up are counted; `-Infinity` when all are. */
  from: number;
}

/** A thousand texts cost an upload about 50 us. */
const MAX_ENTRIES = 1000;

/**
 * `keep`: newest positions kept of each text, for the first pages. `step`: matches that are counted before other work
 * gets its turn, about 3 ms.
 */
export interface MatchSizes {
  keep: number;
  step: number;
}
const SIZES: MatchSizes = { keep: 200, step: 4000 };

/** Another process that keeps writing can make a count start again; then it is done in one go. */
const MAX_RESTARTS = 3;

/** Matches in `image_grams`; one for each connection, as it must hear of all that the connection writes. */
export function createSearchMatches(database: Database, { keep, step: stepSize } = SIZES): SearchMatches {
  const entries = new Map<string, Entry>();
  const running = new Map<string, Promise<void>>();
  let version = database.foreignVersion();
  const next = database.prepare<{ rowid: number }>(
    `SELECT rowid FROM image_grams WHERE image_grams MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ${stepSize}`,
  );

  function dropWhenForeign(): void {
    const current = database.foreignVersion();
    if (current !== version) entries.clear();
    version = current;
  }

  function dropOldest(): void {
    for (const [text, { from }] of entries) {
      if (entries.size < MAX_ENTRIES) return;
      if (from === Number.NEGATIVE_INFINITY) entries.delete(text);
    }
  }

  function step(entry: Entry, query: string): void {
    const positions = next.all(query, entry.from).map(({ rowid }) => rowid);
    if (entry.newest.length === entry.total) entry.newest = [...entry.newest, ...positions].slice(0, keep);
    entry.total += positions.length;
    entry.from = positions.length < stepSize ? Number.NEGATIVE_INFINITY : (positions.at(-1) ?? 0);
  }

  async function run(text: string, query: string): Promise<void> {
    for (let restarts = 0; ; restarts++) {
      const entry: Entry = { total: 0, newest: [], from: Number.MAX_SAFE_INTEGER };
      dropOldest();
      entries.set(text, entry);
      while (entries.get(text) === entry) {
        step(entry, query);
        if (entry.from === Number.NEGATIVE_INFINITY) return;
        if (restarts >= MAX_RESTARTS) continue;
        await setImmediate();
        dropWhenForeign();
      }
    }
  }

  return {
    known(text) {
      dropWhenForeign();
      const entry = entries.get(text);
      return entry?.from === Number.NEGATIVE_INFINITY ? entry : null;
    },
    count(text, query) {
      const job = running.get(text) ?? run(text, query).finally(() => running.delete(text));
      running.set(text, job);
      return job;
    },
    changed(delta, fields, pos) {
      for (const [text, entry] of entries) {
        if (pos < entry.from || !fields.some((field) => field.includes(text))) continue;
        if (delta === 1) addTo(entry, pos, keep);
        else removeFrom(entry, pos);
      }
    },
  };
}

function addTo(entry: Entry, pos: number, keep: number): void {
  const { newest } = entry;
  const at = newest.findIndex((other) => other < pos);
  if (at >= 0) newest.splice(at, 0, pos);
  else if (newest.length === entry.total) newest.push(pos);
  if (newest.length > keep) newest.pop();
  entry.total++;
}

function removeFrom(entry: Entry, pos: number): void {
  const at = entry.newest.indexOf(pos);
  if (at >= 0) entry.newest.splice(at, 1);
  entry.total--;
}
