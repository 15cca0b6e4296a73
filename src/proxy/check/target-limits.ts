import { AppError, inEnglish } from '../../errors.ts';
import { clientNetwork, sharedNetworks } from '../../lib/address.ts';
import type { Bucket, RateLimiter } from '../../lib/rate-limiter.ts';

/** Limits how often all clients together test an address, so that nobody can scan networks from here. */
interface TargetLimitOptions {
  limiter: RateLimiter;
  /** For one address, or one IPv6 /64, with any port. */
  target: Bucket;
  /** For an IPv4 /24, or an IPv6 /56 and /48. */
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
    throw new AppError('rate_limited', inEnglish(`${what} tested too often; try again later.`), {
      retryAfterMs,
    });
  }

  return async (address) => {
    await take(`target ${clientNetwork(address)}`, target, 'This address was');
    for (const shared of sharedNetworks(address)) {
      await take(`target network ${shared}`, network, 'Addresses of this network were');
    }
    await take('targets', overall, 'Addresses were');
  };
}
