import { createHmac } from 'node:crypto';
import { AppError } from '../../errors.ts';
import { clientNetwork } from '../../lib/address.ts';
import type { Bucket, RateLimiter } from '../../lib/rate-limiter.ts';
import { DEFAULT_RATES } from '../../lib/rates.ts';
import type { RandomBytes } from '../ids.ts';
import type { ImageRecord } from '../image.ts';
import type { CookieSigner } from './cookie.ts';
import type { Credentials } from './credentials.ts';
import type { PasswordHasher } from './password.ts';

/** Guesses from one client network at one image. */
const PER_CLIENT_AND_IMAGE: Bucket = { capacity: 10, perSecond: 0.1 };
/** Guesses at one image from everywhere: 17,000 a day. Who has opened it lately is not held up. */
const PER_IMAGE: Bucket = { capacity: 100, perSecond: 0.2 };

/** How long a password that was right need not be hashed again, in ms, and how many of them are remembered. */
const REMEMBER_MS = 5 * 60_000;
const MAX_REMEMBERED = 2000;

/** Decides who may see a protected image. */
export interface PasswordGuard {
  /**
   * Resolves for a public image, and for a protected one with a valid cookie or password; answers whether it was
   * a password that opened it. Rejects with `password_required`, `wrong_password`, `rate_limited` or `busy`.
   */
  open(image: ImageRecord, credentials: Credentials, peer: string): Promise<{ byPassword: boolean }>;
}

export interface PasswordGuardOptions {
  hasher: PasswordHasher;
  cookies: Pick<CookieSigner, 'accepts'>;
  limiter: RateLimiter;
  /** Guesses from one client network, at all images together; 30 a minute by default. */
  perClient?: Bucket;
  random: RandomBytes;
  now: () => number;
}

export function createPasswordGuard(options: PasswordGuardOptions): PasswordGuard {
  const { hasher, cookies, limiter, perClient = DEFAULT_RATES.password, random, now } = options;
  /** Keyed, so that memory never holds a hash of a password that is cheap to guess against. */
  const key = random(32);
  const remembered = new Map<string, number>();
  const digest = (image: ImageRecord, password: string) =>
    createHmac('sha256', key).update(`${image.id}\n${image.passwordHash}\n${password}`).digest('base64');

  function isRemembered(known: string): boolean {
    const until = remembered.get(known);
    if (until === undefined) return false;
    if (until > now()) return true;
    remembered.delete(known);
    return false;
  }

  function remember(known: string): void {
    const oldest = remembered.keys().next().value;
    if (remembered.size >= MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    remembered.set(known, now() + REMEMBER_MS);
  }

  async function countGuess(image: ImageRecord, peer: string): Promise<void> {
    const client = clientNetwork(peer);
    const limits: [string, Bucket][] = [
      [`password ${client}`, perClient],
      [`password ${client} ${image.id}`, PER_CLIENT_AND_IMAGE],
      [`password ${image.id}`, PER_IMAGE],
    ];
    for (const [name, bucket] of limits) {
      const { allowed, retryAfterMs } = await limiter.take(name, bucket);
      if (allowed) continue;
      throw new AppError('rate_limited', 'Too many passwords were tried; try again later.', { retryAfterMs });
    }
  }

  return {
    async open(image, { passwords, cookie }, peer) {
      const { passwordHash } = image;
      if (passwordHash === null) return { byPassword: false };
      if (cookies.accepts(cookie, image)) return { byPassword: false };
      if (passwords.some((password) => isRemembered(digest(image, password)))) return { byPassword: true };
      const [password] = passwords;
      if (password === undefined) {
        throw new AppError('password_required', 'This image needs a password.');
      }
      await countGuess(image, peer);
      if (!(await hasher.verify(password, passwordHash))) {
        throw new AppError('wrong_password', 'The password is wrong.');
      }
      remember(digest(image, password));
      return { byPassword: true };
    },
  };
}
