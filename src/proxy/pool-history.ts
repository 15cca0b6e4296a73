import type { Clock } from '../lib/clock.ts';
import type { StateStore } from '../lib/state.ts';
import type { ProxyStore } from './store.ts';

/** The size of the pool at a moment. */
export interface PoolSample {
  /** Ms since 1970. */
  at: number;
  alive: number;
  total: number;
}

/** How the pool has grown and shrunk over the last two days. */
export interface PoolHistory {
  /** Notes the size of the pool, unless this, or another copy of the server, has done so within ten minutes. */
  note(): Promise<void>;
  /** Oldest first, none older than two days. */
  samples(): Promise<PoolSample[]>;
}

const KEY = 'proxy:history';
const GAP_MS = 10 * 60_000;
const SPAN_MS = 48 * 3_600_000;

export interface PoolHistoryOptions {
  store: Pick<ProxyStore, 'summary'>;
  state: Pick<StateStore, 'get' | 'set'>;
  clock: Pick<Clock, 'now'>;
}

/** 288 samples of 40 bytes under one key: the whole is read and written, which is rare and small. */
export function createPoolHistory({ store, state, clock }: PoolHistoryOptions): PoolHistory {
  async function samples(): Promise<PoolSample[]> {
    const text = await state.get(KEY);
    const stored = text === null ? [] : (JSON.parse(text) as PoolSample[]);
    return stored.filter(({ at }) => clock.now() - at < SPAN_MS);
  }

  return {
    samples,
    async note() {
      const known = await samples();
      const last = known.at(-1);
      // Slots of the clock and not gaps: samples of a timer that is late now and then do not drift apart.
      if (last && Math.floor(last.at / GAP_MS) >= Math.floor(clock.now() / GAP_MS)) return;
      const { alive, total } = await store.summary();
      await state.set(KEY, JSON.stringify([...known, { at: clock.now(), alive, total }]));
    },
  };
}
