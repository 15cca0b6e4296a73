import { followPool } from '../../../src/gateway/follow-pool.ts';
import type { Upstream } from '../../../src/gateway/upstream.ts';
import type { ProxyStore } from '../../../src/proxy/store.ts';

/** Returns the upstreams that a gateway makes of a pool, by key. */
export async function followed(
  store: Pick<ProxyStore, 'stream' | 'version'>,
): Promise<Map<string, Upstream>> {
  const upstreams = new Map<string, Upstream>();
  const follower = followPool({
    store,
    engine: { set: (upstream) => void upstreams.set(upstream.key, upstream) },
    report: async () => {},
    paid: { alive: () => [], version: () => 0, doubt() {} },
    filling: async () => false,
    monotonic: () => 0,
    onError(error) {
      throw error;
    },
  });
  follower.start();
  await follower.stop();
  return upstreams;
}
