import type { StateStore } from '../../lib/state.ts';
import { afterChecks, afterRead, newHealth, type SourceHealth } from '../sources/health.ts';
import type { SourceReport } from '../sources/source.ts';

const KEY = 'proxy:sources';
/** Share of working proxies that a list is credited with before it was measured; a raw list has less than this. */
const UNMEASURED_YIELD = 0.02;

/** What is known about the lists, over all refreshes. */
export interface SourceBook {
  get(name: string): SourceHealth;
  read(name: string, report: SourceReport, fresh: number, now: number): void;
  checked(name: string, counts: { checked: number; alive: number }, now: number): void;
  /** Share of its entries that work, measured or assumed. */
  yieldOf(name: string): number;
  save(): Promise<void>;
}

export async function openSourceBook(state: StateStore): Promise<SourceBook> {
  const text = await state.get(KEY);
  const stored = text === null ? [] : (JSON.parse(text) as SourceHealth[]);
  const book = new Map(stored.map((health) => [health.name, health]));
  const get = (name: string) => book.get(name) ?? newHealth(name);
  return {
    get,
    read(name, report, fresh, now) {
      book.set(name, afterRead(get(name), report, now, fresh));
    },
    checked(name, counts, now) {
      book.set(name, afterChecks(get(name), counts, now));
    },
    yieldOf: (name) => get(name).yield ?? UNMEASURED_YIELD,
    save: () => state.set(KEY, JSON.stringify([...book.values()])),
  };
}
