import type { Lease, Locks } from '../lib/locks.ts';
import type { Log } from '../lib/logger.ts';
import { every, type Repetition } from '../lib/schedule.ts';
import type { StateStore } from '../lib/state.ts';
import type { EventType, Webhooks } from './webhooks.ts';

/** What is watched of the proxy pool. */
export interface PoolState {
  alive: number;
  /** Before the first refresh an empty pool is no news. */
  refreshed: boolean;
  /** Of all judges together. */
  judges: 'unknown' | 'up' | 'down';
  /** Of the judges of one kind. */
  schemes?: Readonly<Record<Scheme, 'none' | 'unknown' | 'up' | 'down'>>;
}

type Scheme = 'http' | 'https';

export interface PoolWatchOptions {
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  look: () => Promise<PoolState>;
  /** An event is sent when fewer proxies than this work. */
  low: number;
  send: Webhooks['send'];
  log: Log;
  /** Time between looks; 5 s when not given. */
  everyMs?: number;
  /** How long after the death of the copy that watches another may take over; 10 s when not given. */
  leaseMs?: number;
}

interface Trouble {
  /** State: `true` if the last event was the problem, and not its end. */
  key: string;
  began: EventType;
  ended: EventType;
  /** Whether there is any; `null` if it is not known. */
  isOn(pool: PoolState, low: number): boolean | null;
  facts(pool: PoolState, low: number): object;
}

const TROUBLES: readonly Trouble[] = [
  {
    key: 'webhooks:pool-low',
    began: 'pool.low',
    ended: 'pool.recovered',
    isOn: ({ alive, refreshed }, low) => refreshed && alive < low,
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

/** All judges of one kind are away, while others are there. */
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

/** The time in which this copy is the one that watches. */
interface Watch {
  lease: Lease;
  /** The keys of the problems that were sent last, or are about to be. */
  told: Set<string>;
}

/**
 * Tells when the pool or its judges fail, and when they are well again: one copy of the fleet at a time, which keeps
 * its lease as long as it lives. What it has told is saved once receivers have it, so that its successor tells the rest.
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
      const on = isOn(pool, low);
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
