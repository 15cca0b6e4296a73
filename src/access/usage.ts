import type { Locks } from '../lib/locks.ts';
import { every } from '../lib/schedule.ts';
import type { StateStore } from '../lib/state.ts';
import type { Tokens } from './tokens.ts';

/** What has passed through the gateway with a token. */
export interface Usage {
  requests: number;
  bytes: number;
  /** When it was last used; ms since 1970. */
  lastAt: number;
}

interface UsageOptions {
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  /** Of others, counts are dropped. */
  tokens: Pick<Tokens, 'list'>;
  /** Ms since 1970. */
  now: () => number;
  onError: (error: unknown) => void;
}

const KEY = 'gateway-usage';
const STORE_MS = 5_000;
const LEASE_MS = 5_000;

/** Returns what is stored, by the ID of the token. */
export async function readUsage(state: Pick<StateStore, 'get'>): Promise<Record<string, Usage>> {
  return JSON.parse((await state.get(KEY)) ?? '{}') as Record<string, Usage>;
}

/** Counts what tokens are used for. All copies of the server add to the same counts, within seconds. */
export function createUsage({ state, locks, tokens, now, onError }: UsageOptions) {
  let news: Record<string, Usage> = {};

  async function store(): Promise<void> {
    if (Object.keys(news).length === 0) return;
    const lease = await locks.acquire(KEY, LEASE_MS);
    // The holder will be done soon.
    if (lease === null) return;
    const taken = news;
    news = {};
    try {
      const sums = sumOf(await readUsage(state), taken);
      const standing = new Set((await tokens.list()).map(({ id }) => id));
      const kept = Object.fromEntries(Object.entries(sums).filter(([id]) => standing.has(id)));
      if (!(await state.setFenced(KEY, JSON.stringify(kept), lease.token))) {
        throw new Error('another copy writes');
      }
    } catch (error) {
      news = sumOf(taken, news);
      throw error;
    } finally {
      await lease.release();
    }
  }
  const storing = every(STORE_MS, store, onError);

  return {
    note(id: string, { requests = 0, bytes = 0 }: { requests?: number; bytes?: number }): void {
      news[id] = together(news[id], { requests, bytes, lastAt: now() });
    },
    /** Resolves when the last counts are stored, as far as the store responds. */
    async stop(): Promise<void> {
      await storing.stop();
      await store().catch(onError);
    },
  };
}

function sumOf(one: Record<string, Usage>, other: Record<string, Usage>): Record<string, Usage> {
  const sums = { ...one };
  for (const [id, used] of Object.entries(other)) sums[id] = together(sums[id], used);
  return sums;
}

/** `other` is the later one, whatever its clock said. */
function together(one: Usage | undefined, other: Usage): Usage {
  if (one === undefined) return other;
  return { ...other, requests: one.requests + other.requests, bytes: one.bytes + other.bytes };
}
