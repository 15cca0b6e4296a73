import type { StateStore } from '../../lib/state.ts';
import { afterChecks, afterRead, newHealth, type SourceHealth } from '../sources/health.ts';
import type { SourceReport } from '../sources/source.ts';

const KEY = 'proxy:sources';
/** Share of working proxies that a list is credited with before it was measured; a raw list has less than this. */
const UNMEASURED_YIELD = 0.02;
/** A list of any length that was not measured is credited with so many: short ones are more often well kept. */
const UNMEASURED_ALIVE = 200;

/** What is known about the lists, over all refreshes. */
export interface SourceBook {
  get(name: string): SourceHealth;
  read(name: string, report: SourceReport, fresh: number, now: number): void;
  checked(name: string, counts: { checked: number; alive: number }, now: number): void;
  /** Share of its entries that may be expected to work, measured or assumed. */
  promiseOf(name: string): number;
  save(): Promise<void>;
}

/** A list to be read again by request, whatever its state. */
const RETRIES_KEY = 'proxy:source-retries';

async function readHealth(state: Pick<StateStore, 'get'>): Promise<Map<string, SourceHealth>> {
  const [text, asked] = await Promise.all([state.get(KEY), state.get(RETRIES_KEY)]);
  const stored = text === null ? [] : (JSON.parse(text) as SourceHealth[]);
  const book = new Map(stored.map((health) => [health.name, health]));
  for (const name of asked === null ? [] : (JSON.parse(asked) as string[])) {
    const health = book.get(name);
    if (health) book.set(name, { ...health, failures: 0, barren: 0, skipUntil: 0 });
  }
  return book;
}

/** What is known of lists, by name. */
export async function lookUpHealth(state: Pick<StateStore, 'get'>): Promise<(name: string) => SourceHealth> {
  const book = await readHealth(state);
  return (name) => book.get(name) ?? newHealth(name);
}

/** Ends the pause of a list. A refresh that runs at the moment does not see it, the next one does. */
export async function retrySource(state: Pick<StateStore, 'get' | 'set'>, name: string): Promise<void> {
  const text = await state.get(RETRIES_KEY);
  const names = new Set(text === null ? [] : (JSON.parse(text) as string[]));
  await state.set(RETRIES_KEY, JSON.stringify([...names.add(name)]));
}

/** Reads the book. `token`: of the lease under which it is written. */
export async function openSourceBook(
  state: Pick<StateStore, 'get' | 'set' | 'setFenced'>,
  token: number,
): Promise<SourceBook> {
  const book = await readHealth(state);
  await state.set(RETRIES_KEY, '[]');
  const get = (name: string) => book.get(name) ?? newHealth(name);
  return {
    get,
    read(name, report, fresh, now) {
      book.set(name, afterRead(get(name), report, now, fresh));
    },
    checked(name, counts, now) {
      book.set(name, afterChecks(get(name), counts, now));
    },
    promiseOf(name) {
      const { yield: measured, found } = get(name);
      return measured ?? Math.min(UNMEASURED_YIELD, UNMEASURED_ALIVE / Math.max(1, found));
    },
    async save() {
      await state.setFenced(KEY, JSON.stringify([...book.values()]), token);
    },
  };
}
