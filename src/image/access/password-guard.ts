import { createHmac } from 'node:crypto';
import { AppError, inEnglish } from '../../errors.ts';
import { clientNetwork } from '../../lib/address.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { openKeyRing } from '../../lib/key-ring.ts';
import type { Log } from '../../lib/logger.ts';
import type { Bucket, RateLimiter } from '../../lib/rate-limiter.ts';
import type { Repetition } from '../../lib/schedule.ts';
import { createShares } from '../../lib/shares.ts';
import type { StateStore } from '../../lib/state.ts';
import { isGoodUntil } from '../../lib/stored-time.ts';
import type { ImageRecord } from '../image.ts';
import type { RandomBytes } from '../records/ids.ts';
import { type CookieSigner, createCookieSigner } from './cookie.ts';
import type { Credentials } from './credentials.ts';
import { createGuessLimits, type GuessLimits } from './guess-limits.ts';
import type { PasswordHasher } from './password.ts';

/** How long a correct password is remembered without hashing it again, in ms, and how many are remembered. */
const REMEMBER_MS = 5 * 60_000;
const MAX_REMEMBERED = 2000;

/**
 * Passwords of one client that are being hashed or wait. `createPasswordHasher` allows more for all clients together.
 */
const HASHES = {
  each: 8,
  fullMessage: inEnglish('Eight of your passwords are being checked; wait for one to finish.'),
};

interface PasswordGuardOptions {
  hasher: PasswordHasher;
  cookies: Pick<CookieSigner, 'opener'>;
  guesses: GuessLimits;
  random: RandomBytes;
  now: () => number;
}

/** Decides who may see a protected image. */
export function createPasswordGuard(options: PasswordGuardOptions) {
  const { hasher, cookies, guesses, random, now } = options;
  const hashes = createShares(HASHES);
  /** A key, so that memory never holds a hash that makes guessing a password cheap. */
  const key = random(32);
  const remembered = new BoundedMap<string, { digest: string; until: number }>(MAX_REMEMBERED);
  const digestOf = (image: ImageRecord, password: string) =>
    createHmac('sha256', key).update(`${image.id}\n${image.passwordHash}\n${password}`).digest('base64');

  /** A different password ends the memory. Otherwise it could be guessed against without a limit. */
  function isRemembered(visit: string, digest: string): boolean {
    const known = remembered.get(visit);
    if (known !== undefined && known.digest === digest && isGoodUntil(known.until, now(), REMEMBER_MS))
      return true;
    remembered.delete(visit);
    return false;
  }

  return {
    /**
     * Resolves for a public image, and for a protected one with a valid cookie or password. Returns whether a password
     * opened it. Rejects with `password_required`, `wrong_password`, `rate_limited` or `busy`.
     */
    async open(image: ImageRecord, { password, cookie }: Credentials, peer: string) {
      const { passwordHash } = image;
      if (passwordHash === null) return { byPassword: false };
      if (cookies.opener(cookie)(image)) return { byPassword: false };
      if (password === null) {
        throw new AppError('password_required', 'This image needs a password.');
      }
      const visit = `${clientNetwork(peer)} ${image.id}`;
      const digest = digestOf(image, password);
      if (isRemembered(visit, digest)) return { byPassword: true };
      const verify = async () => {
        const leave = hashes.enter(clientNetwork(peer));
        return hasher.verify(password, passwordHash).finally(leave);
      };
      if (!(await guesses.guess(image.id, peer, verify))) {
        throw new AppError('wrong_password', 'The password is wrong.');
      }
      remembered.set(visit, { digest, until: now() + REMEMBER_MS });
      return { byPassword: true };
    },
  };
}

/** Passwords of images, and the cookies that stand for them. */
export interface Protection extends ReturnType<typeof createPasswordGuard> {
  /** The signer of the cookies that `open` accepts. */
  readonly cookies: CookieSigner;
}

export interface ProtectionOptions {
  state: StateStore;
  limiter: RateLimiter;
  /** Wrong passwords from one network; see `createGuessLimits`. */
  guesses?: Bucket | undefined;
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
  const guesses = createGuessLimits(limiter, clock.sleep, perNetwork);
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
