import { AppError } from '../errors.ts';
import { clientNetwork } from '../lib/address.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import type { Bucket, RateLimiter } from '../lib/rate-limiter.ts';
import { isSecret } from '../lib/secret.ts';
import { isTokenLike, type Token, type Tokens } from './tokens.ts';

/** Recognises tokens, and enforces their roles and limits. */
export interface Holders {
  /** The facts of a token, or `null` for any other text. */
  identify(bearer: string): Promise<Token | null>;
  /** Counts a use of a token and its bytes, `null` if their number is not known. Rejects with `rate_limited` past its rate or quota. */
  charge(token: Token, bytes: number | null): Promise<void>;
  /** @throws {AppError} `rate_limited` while the client has shown too many wrong tokens. */
  demandCalm(peer: string): void;
  /** Counts a token that opens nothing. Rejects with `rate_limited` when there were too many. */
  countWrong(peer: string): Promise<void>;
}

export interface HoldersOptions {
  tokens: Pick<Tokens, 'verify'>;
  limiter: RateLimiter;
  /** Milliseconds; only differences count. */
  now: () => number;
  /** What a body counts whose length is not announced, in bytes; at most the whole quota. */
  mostBytes: number;
  /** Told of each wrong token. */
  onWrong?: () => void;
  /** A token out of the settings that may upload as well. */
  uploader?: string | undefined;
}

/** Wrong tokens of one client: ten at once, then six a minute. */
const WRONG: Bucket = { capacity: 10, perSecond: 0.1 };
const MAX_BLOCKED = 10_000;

/** Facts of the token from the settings, shared by all its users, without limits of its own. */
const UPLOADER: Token = {
  id: 'settings',
  name: 'settings',
  role: 'upload',
  rate: null,
  quota: null,
  createdAt: 0,
};

export function createHolders(options: HoldersOptions): Holders {
  const { tokens, limiter, mostBytes, now, onWrong } = options;
  const isUploader = isSecret(options.uploader);
  /** Until when a client network need not try, the first blocked first. */
  const blocked = new BoundedMap<string, number>(MAX_BLOCKED);

  return {
    async identify(bearer) {
      if (isUploader(bearer)) return UPLOADER;
      if (!isTokenLike(bearer)) return null;
      for (const role of ['admin', 'upload', 'gateway'] as const) {
        const token = await tokens.verify(bearer, role);
        if (token !== null) return token;
      }
      return null;
    },

    async charge({ id, rate, quota }, bytes) {
      const limits: [string, Bucket | null, number][] = [
        ['rate', rate, 1],
        ['quota', quota, bytes ?? Math.min(mostBytes, quota?.capacity ?? 0)],
      ];
      for (const [name, bucket, cost] of limits) {
        if (bucket === null) continue;
        const { allowed, retryAfterMs } = await limiter.take(`token-${name} ${id}`, bucket, cost);
        if (!allowed)
          throw new AppError('rate_limited', `The ${name} of this token is used up.`, { retryAfterMs });
      }
    },

    demandCalm(peer) {
      const network = clientNetwork(peer);
      const until = blocked.get(network);
      if (until === undefined) return;
      const retryAfterMs = until - now();
      if (retryAfterMs > 0) throw tooMany(retryAfterMs);
      blocked.delete(network);
    },

    async countWrong(peer) {
      onWrong?.();
      const network = clientNetwork(peer);
      const { allowed, retryAfterMs } = await limiter.take(`wrong-token ${network}`, WRONG);
      if (allowed) return;
      blocked.set(network, now() + retryAfterMs);
      throw tooMany(retryAfterMs);
    },
  };
}

function tooMany(retryAfterMs: number): AppError {
  return new AppError('rate_limited', 'Too many wrong tokens from your address; try again later.', {
    retryAfterMs,
  });
}
