import { AppError } from '../../errors.ts';
import { sharedNetworks } from '../../lib/address.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Bucket, RateLimiter } from '../../lib/rate-limiter.ts';
import { DEFAULT_RATES } from '../../lib/rates.ts';

const DAY_S = 86_400;

/** Wrong passwords from one network for one image. */
const PER_NETWORK_AND_IMAGE: Bucket = { capacity: 10, perSecond: 0.1 };
/**
 * Wrong passwords for one image from all networks: 1,100 on the first day. Beyond that, only quiet networks may try.
 */
const PER_IMAGE: Bucket = { capacity: 100, perSecond: 1000 / DAY_S };
/**
 * What a quiet network may still try beyond that: enough to mistype twice. Every wrong password counts, before and
 * after.
 */
const PER_QUIET_NETWORK: Bucket = { capacity: 3, perSecond: 3 / DAY_S };
/** Wrong passwords for one image beyond its limit: the more there were recently, the longer each try waits. */
const BEYOND: Bucket = { capacity: 60, perSecond: 60 / 3600 };

/** Maximum delay of one try, so that two typing errors cost less than 10 s. */
const MAX_DELAY_MS = 3000;
/** Maximum number of delayed tries at once, for all images. */
const MAX_DELAYED = 256;

/** A counter of failures that limits a try. */
interface Account {
  key: string;
  bucket: Bucket;
}

/** `perNetwork`: wrong passwords from one network, for all images together. */
export function createGuessLimits(
  limiter: RateLimiter,
  sleep: Clock['sleep'],
  perNetwork: Bucket = DEFAULT_RATES.password,
) {
  let delayed = 0;

  async function delay({ key, bucket }: Account): Promise<void> {
    if (delayed >= MAX_DELAYED) {
      throw new AppError('busy', 'Too many passwords are being checked; try again in a moment.', {
        retryAfterMs: MAX_DELAY_MS,
      });
    }
    delayed++;
    try {
      const { remaining } = await limiter.take(key, bucket, 0);
      await sleep((1 - remaining / bucket.capacity) * MAX_DELAY_MS);
    } finally {
      delayed--;
    }
  }

  return {
    /**
     * Returns the result of `verify`, and charges the visitor's networks only if that is false. If an image had too
     * many wrong passwords recently, the try waits some seconds first. Rejects with `rate_limited` if too many came
     * from the visitor's network, and with `busy` if too many tries wait.
     */
    async guess(image: string, peer: string, verify: () => Promise<boolean>): Promise<boolean> {
      const networks = sharedNetworks(peer);
      const account = (name: string, bucket: Bucket) =>
        networks.map((network) => ({ key: `${name} ${network}`, bucket }));
      const always = [
        ...account('password', perNetwork),
        ...account(`password ${image}`, PER_NETWORK_AND_IMAGE),
      ];
      const ofImage = { key: `password-image ${image}`, bucket: PER_IMAGE };
      const quiet = account(`password-quiet ${image}`, PER_QUIET_NETWORK);
      const beyond = { key: `password-beyond ${image}`, bucket: BEYOND };
      const held: Account[] = [];
      /**
       * Charges failures in advance, so that concurrent tries cannot exceed a limit on any copy. Returns how long to
       * wait, in ms, if there is no room.
       */
      const holdAll = async (accounts: readonly Account[]) => {
        for (const one of accounts) {
          const { allowed, retryAfterMs } = await limiter.take(one.key, one.bucket);
          if (!allowed) return Math.max(1, retryAfterMs);
          held.push(one);
        }
        return 0;
      };

      try {
        const refusedMs = await holdAll(always);
        if (refusedMs > 0) throw tooMany(refusedMs);
        const crowdedMs = await holdAll([ofImage]);
        if (crowdedMs > 0) {
          const loudMs = await holdAll(quiet);
          if (loudMs > 0) throw tooMany(Math.min(crowdedMs, loudMs));
          await delay(beyond);
        }
        const right = await verify();
        if (!right) {
          const charged = crowdedMs > 0 ? [beyond] : quiet;
          held.length = 0;
          await Promise.all(charged.map(({ key, bucket }) => limiter.take(key, bucket)));
        }
        return right;
      } finally {
        // Failures that did not happen are given back.
        await Promise.all(held.map(({ key, bucket }) => limiter.take(key, bucket, -1)));
      }
    },
  };
}

/** Limits wrong passwords, so that nobody can guess a password or lock its image for others. */
export type GuessLimits = ReturnType<typeof createGuessLimits>;

function tooMany(retryAfterMs: number): AppError {
  return new AppError('rate_limited', 'Too many wrong passwords from your network; try again later.', {
    retryAfterMs,
  });
}
