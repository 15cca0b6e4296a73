import { every, type Repetition } from '../lib/schedule.ts';
import type { Checker } from './check/checker.ts';
import type { ProxyStore } from './store.ts';

/** Addresses from which the proxies of the pool go out: whoever comes from one may be anybody. */
export interface Exits {
  has(address: string): boolean;
  /** The same checker; what it finds alive is remembered as an exit. */
  watch(checker: Checker): Checker;
  /** Reads the pool, and what other copies of the server have found from time to time. */
  start(): void;
  /** Idempotent. */
  stop(): Promise<void>;
}

export interface ExitsOptions {
  store: Pick<ProxyStore, 'stream'>;
  onError: (error: unknown) => void;
}

const READ_AGAIN_MS = 10 * 60_000;
/** Some 100 MB; more were never alive in one life of a server. */
const MAX_KNOWN = 1_000_000;

/** An address that was an exit once stays one for as long as the process lives, and as long as the pool remembers it. */
export function createExits({ store, onError }: ExitsOptions): Exits {
  const known = new Set<string>();
  let reading: Repetition | null = null;
  let first: Promise<void> | null = null;

  function add(address: string | null): void {
    if (address !== null && known.size < MAX_KNOWN) known.add(address);
  }

  async function read(filter: Parameters<ProxyStore['stream']>[0], signal?: AbortSignal): Promise<void> {
    for await (const batch of store.stream(filter)) {
      for (const { ip, exitIp, lastAlive } of batch) {
        add(exitIp);
        if (lastAlive !== null) add(ip);
      }
      if (signal?.aborted) return;
    }
  }

  return {
    has: (address) => known.has(address),
    watch: (checker) => ({
      ...checker,
      async check(endpoint, signal) {
        const result = await checker.check(endpoint, signal);
        if (result.verdict === 'alive') {
          add(endpoint.ip);
          add(result.exitIp);
        }
        return result;
      },
    }),
    start() {
      first ??= read({}).catch(onError);
      reading ??= every(READ_AGAIN_MS, (signal) => read({ status: 'alive' }, signal), onError);
    },
    async stop() {
      await reading?.stop();
      await first;
    },
  };
}
