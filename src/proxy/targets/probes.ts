import type { Locks } from '../../lib/locks.ts';
import type { StateStore } from '../../lib/state.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import { type Dialled, UNFORGEABLE } from '../proxy.ts';
import type { ProxyStore } from '../store.ts';
import type { Asker, NamedTarget } from './ask.ts';
import { proxyKeyOf, siteOf } from './site.ts';
import type { Sites } from './sites.ts';

export interface ProbesOptions {
  named: readonly NamedTarget[];
  store: Pick<ProxyStore, 'find'>;
  state: Pick<StateStore, 'get' | 'set'>;
  locks: Locks;
  sites: Pick<Sites, 'observe'>;
  ask: Asker['ask'];
  /** Returns false while failures mean nothing, because our own network, or what monitors it, is down. */
  mayAsk: () => boolean;
  /** Ms since 1970. */
  now: () => number;
}

/** Each target is requested once in this time, regardless of the number of proxies and copies of the server. */
export const PROBE_GAP_MS = 5_000;
/** Timers may fire slightly early. */
const LEAST_GAP_MS = PROBE_GAP_MS * 0.9;
const LEASE_MS = 30_000;
/** This many of the most dependable proxies take turns, each about every half hour. */
const PROBED = 300;
/** How long the selection is used. */
const CHOSEN_MS = 60_000;
/**
 * After this many failures in a row without any answer, the fault is probably our network's. Such failures do
 * not count until one request is answered.
 */
const MOST_SILENT = 8;
const KEY = 'targets:probed';

/** Tries proxies with the targets that the operator has configured. */
export function createProbes(options: ProbesOptions) {
  const { named, store, state, locks, sites, ask, mayAsk, now } = options;
  const lines = named.map((target) => ({ target, queue: [] as Dialled[], chosenAt: 0, turn: 0 }));
  let silent = 0;

  async function next(line: (typeof lines)[number]): Promise<Dialled | undefined> {
    if (elapsedSince(line.chosenAt, now(), 0) >= CHOSEN_MS || line.queue.length === 0) {
      const scheme = line.target.url.startsWith('https:') ? 'https' : 'http';
      const protocols = [scheme, 'socks4', 'socks5'] as const;
      const filter = { status: 'alive', protocols, proofs: UNFORGEABLE } as const;
      const { items } = await store.find({ filter, sort: 'dependable', offset: 0, limit: PROBED });
      line.queue = items.map(({ protocol, ip, port, login }) => ({ protocol, ip, port, login }));
      line.chosenAt = now();
    }
    return line.queue[line.turn++ % line.queue.length];
  }

  async function probe(line: (typeof lines)[number], signal: AbortSignal): Promise<void> {
    const proxy = await next(line);
    if (!proxy) return;
    const reached = await ask(proxy, line.target.url, line.target, signal);
    if (signal.aborted) return;
    silent = reached === null ? silent + 1 : 0;
    if (silent > MOST_SILENT) return;
    sites.observe(siteOf(new URL(line.target.url).hostname), proxyKeyOf(proxy), reached === true);
  }

  /** Requests each target through one proxy, unless this or another copy of the server has just done so. */
  return async (signal?: AbortSignal): Promise<void> => {
    if (!mayAsk()) return;
    const lease = await locks.acquire('target-probes', LEASE_MS);
    if (lease === null) return;
    try {
      if (elapsedSince(Number((await state.get(KEY)) ?? 0), now()) < LEAST_GAP_MS) return;
      await state.set(KEY, String(now()));
      const ending = AbortSignal.any([lease.lost, ...(signal ? [signal] : [])]);
      await Promise.all(lines.map((line) => probe(line, ending)));
    } finally {
      await lease.release();
    }
  };
}
