import { breathe } from '../../lib/schedule.ts';
import type { Pass } from './pass.ts';
import { createRows, type Entry, type Rows } from './rows.ts';

/** An entry that is due. */
export interface Turn extends Entry {
  /** True if it was never tried before. */
  isNew: boolean;
}

interface QueueOptions {
  fresh: Rows;
  again: Rows;
  /** Returns the expected share of working entries in a list. */
  yieldOf: (source: number) => number;
  /** Returns false for an entry that is to be left out. */
  mayTry: (key: number, source: number) => boolean;
  pass: Pick<Pass, 'placeOf' | 'reached'>;
  /** Maximum number of entries that can be tried until the next queue is made. */
  most: number;
}

/** Slices of the pass. They are sorted one at a time: at two million entries, each has some hundreds. */
const SLICES = 4_096;
/** Number of entries examined without a pause. */
const STEP = 50_000;

/** Entries that are tried together, from lists with a similar expected yield. */
interface Group {
  rows: Rows;
  isNew: boolean;
  /** Number of the group's entries in each slice. */
  slices: Uint32Array;
  belongs: (index: number) => boolean;
}

/**
 * Creates a queue: new entries first, those of lists with twice the expected yield before the others, and
 * within a group in the order of the pass.
 */
export async function createQueue({ fresh, again, yieldOf, mayTry, pass, most }: QueueOptions) {
  const promises = new Map<number, number>();
  function promiseAt(index: number): number {
    const source = fresh.sourceAt(index);
    const known = promises.get(source) ?? Math.floor(Math.log2(yieldOf(source) + 1e-6));
    promises.set(source, known);
    return known;
  }
  const mayTryAt = (rows: Rows, index: number) => mayTry(rows.keyAt(index), rows.sourceAt(index));
  /** Number of entries that may be tried. */
  let listed = 0;
  const sliceAt = (rows: Rows, index: number) => Math.floor(pass.placeOf(rows.keyAt(index)) * SLICES);

  async function group(rows: Rows, isNew: boolean, rankAt: (index: number) => number): Promise<Group[]> {
    const slicesOf = new Map<number, Uint32Array>();
    for (let index = 0; index < rows.size; index++) {
      if (index % STEP === STEP - 1) await breathe();
      if (!mayTryAt(rows, index)) continue;
      listed++;
      const slices = slicesOf.get(rankAt(index)) ?? new Uint32Array(SLICES);
      slicesOf.set(rankAt(index), slices);
      const slice = sliceAt(rows, index);
      slices[slice] = (slices[slice] ?? 0) + 1;
    }
    const ranked = [...slicesOf].sort(([a], [b]) => b - a);
    return ranked.map(([rank, slices]) => ({
      rows,
      isNew,
      slices,
      belongs: (index) => rankAt(index) === rank && mayTryAt(rows, index),
    }));
  }

  const groups = [...(await group(fresh, true, promiseAt)), ...(await group(again, false, () => 0))];
  const buckets: { rows: Rows; isNew: boolean; isLast: boolean }[] = [];
  const chosen = { fresh: 0, again: 0 };
  for (const [place, { rows, isNew, slices, belongs }] of groups.entries()) {
    const left = most - chosen.fresh - chosen.again;
    if (left <= 0) break;
    const bucketOf = new Map<number, Rows>();
    for (let slice = 0, count = 0; slice < SLICES && count < left; slice++) {
      const entries = slices[slice] ?? 0;
      if (entries > 0) bucketOf.set(slice, createRows(entries));
      count += entries;
    }
    for (let index = 0; index < rows.size; index++) {
      if (index % STEP === STEP - 1) await breathe();
      if (belongs(index)) bucketOf.get(sliceAt(rows, index))?.add(rows.entryAt(index));
    }
    const isLast = place === groups.length - 1;
    for (const bucket of bucketOf.values()) {
      chosen[isNew ? 'fresh' : 'again'] += bucket.size;
      buckets.push({ rows: bucket, isNew, isLast });
    }
  }
  const isWhole = chosen.fresh + chosen.again === listed;

  function* walk(): Generator<Turn> {
    for (const { rows, isNew, isLast } of buckets) {
      const order = Array.from({ length: rows.size }, (_, index) => ({
        index,
        at: pass.placeOf(rows.keyAt(index)),
      }));
      order.sort((a, b) => a.at - b.at);
      for (const { index, at } of order) {
        chosen[isNew ? 'fresh' : 'again']--;
        // All groups before are finished, so everything before this position was tried.
        if (isLast) pass.reached(at);
        // More of its network work by now.
        if (!mayTryAt(rows, index)) continue;
        yield { ...rows.entryAt(index), isNew };
      }
    }
  }

  const walking = walk();
  return {
    next: () => walking.next().value ?? null,
    /** How many never tried entries are left, and how many that an earlier pass has tried. */
    get fresh(): number {
      return chosen.fresh;
    },
    get again(): number {
      return chosen.again;
    },
    /** True if every listed entry that may be tried is in this queue. */
    isWhole,
  };
}

/** Listed entries in the order in which they are tried, as many as can be tried until the lists are read again. */
export type Queue = Awaited<ReturnType<typeof createQueue>>;
