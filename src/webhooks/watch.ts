import type { Lease, Locks } from '../lib/locks.ts';
import type { Log } from '../lib/logger.ts';
import { every, type Repetition } from '../lib/schedule.ts';
import type { StateStore } from '../lib/state.ts';
import type { EventType, Webhooks } from './webhooks.ts';

/** The watched state of the proxy pool. */
export interface PoolState {
  alive: number;
  /** False before the first refresh, when an empty pool is normal. */
  refreshed: boolean;
  /** The state of all judges together. */
  judges: 'unknown' | 'up' | 'down';
  /** The state of the judges of one kind. */
  schemes?: Readonly<Record<Scheme, 'none' | 'unknown' | 'up' | 'down'>>;
}

type Scheme = 'http' | 'https';

interface PoolWatchOptions {
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  look: () => Promise<PoolState>;
  /** An event is sent when fewer proxies than this work. */
  low: number;
  send: Webhooks['send'];
  log: Log;
  /** Time between checks. Default: 5 s. */
  everyMs?: number;
  /** How long after the death of the watching copy another may take over. Default: 10 s. */
  leaseMs?: number;
}

interface Trouble {
  /** State key: `true` if the last event was the problem rather than its end. */
  key: string;
  began: EventType;
  ended: EventType;
  /** Returns whether it exists; `null` if that is unknown. `was`: whether it did before. */
  isOn(pool: PoolState, low: number, was: boolean): boolean | null;
  facts(pool: PoolState, low: number): object;
}

const TROUBLES: readonly Trouble[] = [
  {
    key: 'webhooks:pool-low',
    began: 'pool.low',
    ended: 'pool.recovered',
    // A pool whose size is about the limit would send events without end.
    isOn: ({ alive, refreshed }, low, was) =>
      refreshed && alive < low + (was ? Math.ceil((low - 1) / 10) : 0),
    facts: ({ alive }, low) => ({ alive, threshold: low }),
  },
  {
    key: 'webhooks:judge-down',
    began: 'judge.down',
    ended: 'judge.up',
    isOn: ({ judges }) => (judges === 'unknown' ? null : judges === 'down'),
    facts: () => ({}),
  },
  judgesOf('http'),
  judgesOf('https'),
];

/** All judges of one kind are down, while others work. */
function judgesOf(scheme: Scheme): Trouble {
  return {
    key: `webhooks:judge-down-${scheme}`,
    began: 'judge.down',
    ended: 'judge.up',
    isOn({ judges, schemes }) {
      const state = schemes?.[scheme] ?? 'unknown';
      return judges !== 'up' || state === 'unknown' ? null : state === 'down';
    },
    facts: () => ({ scheme }),
  };
}

/** The time during which this copy watches. */
interface Watch {
  lease: Lease;
  /** The keys of the problems that were sent last, or are about to be. */
  told: Set<string>;
}

/**
 * Sends events when the pool or its judges fail, and when they recover. One copy of the fleet does so at a time, and
 * keeps its lease as long as it lives. Events are saved as sent once receivers have them, so that a successor sends
 * the rest.
 */
export function watchPool(options: PoolWatchOptions): Repetition {
  const { state, locks, look, low, send, log, everyMs = 5000, leaseMs = 10_000 } = options;
  let watch: Watch | null = null;

  async function takeOver(): Promise<Watch | null> {
    const lease = await locks.acquire('webhooks', leaseMs);
    if (!lease) return null;
    try {
      const values = await Promise.all(TROUBLES.map(({ key }) => state.get(key)));
      return { lease, told: new Set(TROUBLES.flatMap(({ key }, n) => (values[n] === 'true' ? key : []))) };
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  async function turn(): Promise<void> {
    if (watch?.lease.lost.aborted) watch = null;
    watch ??= await takeOver();
    if (!watch) return;
    const { lease, told } = watch;
    const pool = await look();
    for (const { key, began, ended, isOn, facts } of TROUBLES) {
      const on = isOn(pool, low, told.has(key));
      if (on === null || on === told.has(key) || lease.lost.aborted) continue;
      if (on) told.add(key);
      else told.delete(key);
      send(on ? began : ended, facts(pool, low), () => {
        state.setFenced(key, String(on), lease.token).catch(onError);
      });
    }
  }

  const onError = (error: unknown) => log('warn', 'pool not watched', { error });
  const repetition = every(everyMs, turn, onError);
  return {
    async stop() {
      await repetition.stop();
      await watch?.lease.release();
    },
  };
}

const LOCK_TTL_MS = 10_000;

interface Change {
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  /** State key: the last event sent. */
  key: string;
  /** Whether the problem exists. */
  on: boolean;
}

/** Sends an event for a change that every copy of the server sees, from only one of them. */
export async function tellOnce({ state, locks, key, on }: Change, tell: () => void): Promise<void> {
  const lease = await locks.acquire(key, LOCK_TTL_MS);
  if (!lease) return;
  try {
    const told = (await state.get(key)) === 'true';
    if (told === on || !(await state.setFenced(key, String(on), lease.token))) return;
    tell();
  } finally {
    await lease.release();
  }
}
