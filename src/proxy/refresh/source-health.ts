import type { StateStore } from '../../lib/state.ts';
import { afterChecks, afterRead, newHealth, type SourceHealth } from '../sources/health.ts';
import type { SourceReport } from '../sources/source.ts';

const KEY = 'proxy:sources';
/** Assumed share of working proxies in a list that was not measured yet. A raw list has less. */
const UNMEASURED_YIELD = 0.02;
/**
 * Assumed number of working proxies in an unmeasured list of any length, because short lists are more often
 * well kept.
 */
const UNMEASURED_ALIVE = 200;

async function readHealth(state: Pick<StateStore, 'get'>): Promise<Map<string, SourceHealth>> {
  const text = await state.get(KEY);
  const stored = text === null ? [] : (JSON.parse(text) as SourceHealth[]);
  return new Map(stored.map((health) => [health.name, health]));
}

/** Returns the health of lists, by name. */
export async function lookUpHealth(state: Pick<StateStore, 'get'>): Promise<(name: string) => SourceHealth> {
  const book = await readHealth(state);
  return (name) => book.get(name) ?? newHealth(name);
}

/** Reads the book. `token`: of the lease under which it is written. */
export async function openSourceBook(state: Pick<StateStore, 'get' | 'setFenced'>, token: number) {
  const book = await readHealth(state);
  const get = (name: string) => book.get(name) ?? newHealth(name);
  return {
    get,
    read(name: string, report: SourceReport, fresh: number, now: number): void {
      book.set(name, afterRead(get(name), report, now, fresh));
    },
    checked(name: string, counts: { checked: number; alive: number }, now: number): void {
      book.set(name, afterChecks(get(name), counts, now));
    },
    /** Returns the expected share of its entries that work, measured or assumed. */
    promiseOf(name: string): number {
      const { yield: measured, found } = get(name);
      return measured ?? Math.min(UNMEASURED_YIELD, UNMEASURED_ALIVE / Math.max(1, found));
    },
    save: async () => void (await state.setFenced(KEY, JSON.stringify([...book.values()]), token)),
  };
}

/** The health of all lists, over all refreshes. */
export type SourceBook = Awaited<ReturnType<typeof openSourceBook>>;
