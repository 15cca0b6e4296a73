import type { Clock } from '../../lib/clock.ts';
import type { StateStore } from '../../lib/state.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import type { ProxyStore } from '../store.ts';

/** The size of the pool at one time. */
export interface PoolSample {
  /** Ms since 1970. */
  at: number;
  alive: number;
  total: number;
}

const HOUR_MS = 3_600_000;
const FINE = { key: 'proxy:history', gapMs: HOUR_MS / 6, spanMs: 48 * HOUR_MS };
const COARSE = { key: 'proxy:history:hours', gapMs: HOUR_MS, spanMs: 30 * 24 * HOUR_MS };
type Series = typeof FINE;

interface PoolHistoryOptions {
  store: Pick<ProxyStore, 'summary'>;
  state: Pick<StateStore, 'get' | 'set'>;
  clock: Pick<Clock, 'now'>;
}

/**
 * 288 and 720 samples of 45 bytes under two keys. Each series is read and written as a whole, which is rare
 * and cheap.
 */
export function createPoolHistory({ store, state, clock }: PoolHistoryOptions) {
  async function read({ key, spanMs }: Series): Promise<PoolSample[]> {
    const text = await state.get(key);
    const stored = text === null ? [] : (JSON.parse(text) as PoolSample[]);
    return stored.filter(({ at }) => elapsedSince(at, clock.now()) < spanMs);
  }

  // Uses slots of the clock rather than gaps, so that a timer that is sometimes late does not make samples
  // drift apart.
  const slotOf = ({ gapMs }: Series, at: number) => Math.floor(at / gapMs);

  return {
    /** Returns the last two days, one sample for each ten minutes, oldest first. */
    samples: () => read(FINE),
    /** Returns the last 30 days, one sample for each hour, oldest first. */
    hourly: () => read(COARSE),
    /** Records the size of the pool, unless this or another copy of the server has done so within ten minutes. */
    async note(): Promise<void> {
      const known = await read(FINE);
      const last = known.at(-1);
      if (last && slotOf(FINE, last.at) >= slotOf(FINE, clock.now())) return;
      const { alive, total } = await store.summary();
      const sample = { at: clock.now(), alive, total };
      await state.set(FINE.key, JSON.stringify([...known, sample]));
      const hours = await read(COARSE);
      if (slotOf(COARSE, sample.at) > slotOf(COARSE, hours.at(-1)?.at ?? 0))
        await state.set(COARSE.key, JSON.stringify([...hours, sample]));
    },
  };
}

/** Records how the pool grows and shrinks. */
export type PoolHistory = ReturnType<typeof createPoolHistory>;
