import type { Clock } from '../../lib/clock.ts';
import { openKeyRing } from '../../lib/key-ring.ts';
import type { Log } from '../../lib/logger.ts';
import type { Bucket, RateLimiter } from '../../lib/rate-limiter.ts';
import type { Repetition } from '../../lib/schedule.ts';
import type { StateStore } from '../../lib/state.ts';
import type { RandomBytes } from '../ids.ts';
import { type CookieSigner, createCookieSigner } from './cookie.ts';
import { createGuessLimits } from './guess-limits.ts';
import type { PasswordHasher } from './password.ts';
import { createPasswordGuard, type PasswordGuard } from './password-guard.ts';

/** Passwords of images, and the cookies that stand for them. */
export interface Protection extends PasswordGuard {
  /** The signer of the cookies that `open` accepts. */
  readonly cookies: Pick<CookieSigner, 'issue' | 'clear' | 'opener'>;
}

interface ProtectionOptions {
  state: StateStore;
  limiter: RateLimiter;
  /** Wrong passwords from one network; see `createGuessLimits`. */
  guesses: Bucket | undefined;
  hasher: PasswordHasher;
  clock: Pick<Clock, 'now' | 'sleep'>;
  random: RandomBytes;
  log: Log;
}

/** Reads or creates the keys of the cookies. Between `start` and `stop`, it follows new ones of other copies. */
export async function openProtection({
  state,
  limiter,
  guesses: perNetwork,
  hasher,
  clock,
  random,
  log,
}: ProtectionOptions): Promise<Protection & { start(): void } & Repetition> {
  const now = () => clock.now();
  const keys = await openKeyRing({ state, name: 'cookie-secret', random, now });
  const cookies = createCookieSigner(keys, now);
  const guesses = createGuessLimits({ limiter, sleep: clock.sleep, perNetwork });
  let following: Repetition | null = null;
  return {
    cookies,
    ...createPasswordGuard({ hasher, cookies, guesses, random, now }),
    start() {
      following ??= keys.follow((cause) => log('warn', 'keys cannot be read', { cause }));
    },
    async stop() {
      await following?.stop();
      following = null;
    },
  };
}
