import { AppError } from '../../errors.ts';
import { clientNetwork, sharedNetworks } from '../../lib/address.ts';
import type { Bucket, RateLimiter } from '../../lib/rate-limiter.ts';

/** How often addresses are tested by all clients together, so that nobody scans networks from here. */
export interface TargetLimitOptions {
  limiter: RateLimiter;
  /** For one address, an IPv6 /64; whatever the port. */
  target: Bucket;
  /** For a /24, or a /56 and a /48. */
  network: Bucket;
  /** For all addresses together. */
  overall: Bucket;
}

/** Counts a test of an address. Rejects with `rate_limited` if there were too many. */
export type CountTarget = (address: string) => Promise<void>;

export function createTargetLimits({ limiter, target, network, overall }: TargetLimitOptions): CountTarget {
  async function take(key: string, bucket: Bucket, what: string): Promise<void> {
    const { allowed, retryAfterMs } = await limiter.take(key, bucket);
    if (allowed) return;
    throw new AppError('rate_limited', `${what} tested too often; try again later.`, { retryAfterMs });
  }

  return async (address) => {
    await take(`target ${clientNetwork(address)}`, target, 'This address was');
    for (const shared of sharedNetworks(address)) {
      await take(`target network ${shared}`, network, 'Addresses of this network were');
    }
    await take('targets', overall, 'Addresses were');
  };
}
