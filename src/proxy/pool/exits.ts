import { BoundedMap } from '../../lib/bounded-map.ts';
import { every, type Repetition } from '../../lib/schedule.ts';
import type { StateStore } from '../../lib/state.ts';
import { type Checker, watched } from '../check/checker.ts';
import { provenExit } from '../proxy.ts';
import type { ProxyStore } from '../store.ts';

interface ExitsOptions {
  store: Pick<ProxyStore, 'stream'>;
  /** Keeps the latest exits for longer than the pool keeps its proxies. */
  state: Pick<StateStore, 'get' | 'set'>;
  onError: (error: unknown) => void;
}

const READ_AGAIN_MS = 10 * 60_000;
/** Takes some 100 MB. No server has seen more exits in its lifetime. */
const MAX_KNOWN = 1_000_000;
/** Number of addresses that survive their proxies and the process; they take some 300 KB of state. */
const MAX_KEPT = 20_000;
const KEPT = 'proxy:exits';

/**
 * The proven exit addresses of the pool's proxies, which anyone who uses a proxy shares. A proxy must not be able to
 * make one of somebody else's address.
 *
 * Remembers an exit address while the process runs, while the pool remembers it, and while it is among the latest
 * 20,000.
 */
export function createExits({ store, state, onError }: ExitsOptions) {
  const known = new Set<string>();
  /** In order of age, the newest last. */
  const latest = new BoundedMap<string, true>(MAX_KEPT);
  let saved = '';
  let reading: Repetition | null = null;
  let first: Promise<void> | null = null;

  function add(address: string | null): void {
    if (address === null) return;
    if (known.size < MAX_KNOWN) known.add(address);
    latest.set(address, true);
  }

  async function read(filter: Parameters<ProxyStore['stream']>[0], signal?: AbortSignal): Promise<void> {
    for await (const batch of store.stream(filter)) {
      for (const record of batch) {
        add(provenExit(record));
        if (record.lastAlive !== null) add(record.ip);
      }
      if (signal?.aborted) return;
    }
  }

  /** Also keeps what other copies have saved, which counts as older than what was found here. */
  async function keep(): Promise<void> {
    const found = [...latest.keys()];
    for (const address of (await state.get(KEPT))?.split(' ') ?? []) add(address);
    for (const address of found) latest.set(address, true);
    const text = [...latest.keys()].join(' ');
    if (text === saved || text === '') return;
    await state.set(KEPT, text);
    saved = text;
  }

  return {
    has: (address: string) => known.has(address),
    /** Wraps the checker so that the exits of working proxies are remembered. */
    watch: (checker: Checker): Checker =>
      watched(checker, ({ ip }, result) => {
        if (result.verdict !== 'alive') return;
        add(ip);
        add(provenExit(result));
      }),
    /** Reads the pool, and from time to time what other copies of the server have found. */
    start(): void {
      first ??= read({}).then(keep).catch(onError);
      const again = (signal: AbortSignal) => read({ status: 'alive' }, signal).then(keep);
      reading ??= every(READ_AGAIN_MS, again, onError);
    },
    /** Idempotent. */
    async stop(): Promise<void> {
      await reading?.stop();
      await first;
      if (first) await keep().catch(onError);
    },
  };
}
