import { AppError } from '../errors.ts';
import { clientNetwork } from '../lib/address.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import type { Bucket, RateLimiter } from '../lib/rate-limiter.ts';
import { isSecret } from '../lib/secret.ts';
import { isTokenLike, type Token, type Tokens } from './tokens.ts';

interface HoldersOptions {
  tokens: Pick<Tokens, 'verify'>;
  limiter: RateLimiter;
  /** Milliseconds; only differences count. */
  now: () => number;
  /** How many bytes a body of unknown length counts, at most the whole quota. */
  mostBytes: number;
  onUse?: (id: string) => void;
  /** A token from the settings that also allows uploads. */
  uploader?: string | undefined;
}

/** Wrong tokens of one client: ten at once, then six a minute. */
const WRONG: Bucket = { capacity: 10, perSecond: 0.1 };
const MAX_BLOCKED = 10_000;

const USED_UP = {
  rate: 'The rate of this token is used up.',
  quota: 'The quota of this token is used up.',
} as const;

/** Facts of the token from the settings, which all its users share, and which has no limits of its own. */
const UPLOADER: Token = {
  id: 'settings',
  name: 'settings',
  role: 'upload',
  rate: null,
  quota: null,
  createdAt: 0,
};

export function createHolders(options: HoldersOptions) {
  const { tokens, limiter, mostBytes, now, onUse } = options;
  const isUploader = isSecret(options.uploader);
  /** Until when a client network is blocked, in the order of blocking. */
  const blocked = new BoundedMap<string, number>(MAX_BLOCKED);

  async function take(
    name: keyof typeof USED_UP,
    { id, [name]: bucket }: Token,
    cost: number,
  ): Promise<void> {
    if (bucket === null) return;
    const { allowed, retryAfterMs } = await limiter.take(`token-${name} ${id}`, bucket, cost);
    if (!allowed) throw new AppError('rate_limited', USED_UP[name], { retryAfterMs });
  }

  return {
    /** Returns the facts of a token, or `null` for any other text. */
    async identify(bearer: string): Promise<Token | null> {
      if (isUploader(bearer)) return UPLOADER;
      if (!isTokenLike(bearer)) return null;
      for (const role of ['admin', 'moderator', 'upload', 'gateway'] as const) {
        const token = await tokens.verify(bearer, role);
        if (token !== null) return token;
      }
      return null;
    },

    /**
     * Counts a use of a token and its bytes, `null` if unknown. Rejects with `rate_limited` beyond its rate or quota.
     */
    async charge(token: Token, bytes: number | null): Promise<void> {
      onUse?.(token.id);
      await take('rate', token, 1);
      await take('quota', token, bytes ?? Math.min(mostBytes, token.quota?.capacity ?? 0));
    },

    /** Counts further bytes of the same use. */
    countBytes: (token: Token, bytes: number) => take('quota', token, bytes),

    /**
     * Stops who guesses. What looks like an issued token always passes: nobody can guess one, and it must work beside a
     * colleague's that was revoked.
     * @throws {AppError} `rate_limited` while the client has sent too many wrong tokens.
     */
    demandCalm(peer: string, token: string): void {
      if (isTokenLike(token)) return;
      const network = clientNetwork(peer);
      const until = blocked.get(network);
      if (until === undefined) return;
      const retryAfterMs = until - now();
      if (retryAfterMs > 0) throw tooMany(retryAfterMs);
      blocked.delete(network);
    },

    /** Counts an invalid token. Rejects with `rate_limited` if there were too many. */
    async countWrong(peer: string): Promise<void> {
      const network = clientNetwork(peer);
      const { allowed, retryAfterMs } = await limiter.take(`wrong-token ${network}`, WRONG);
      if (allowed) return;
      blocked.set(network, now() + retryAfterMs);
      throw tooMany(retryAfterMs);
    },
  };
}

/** Recognises tokens, and enforces their roles and limits. */
export type Holders = ReturnType<typeof createHolders>;

function tooMany(retryAfterMs: number): AppError {
  return new AppError('rate_limited', 'Too many wrong tokens from your address; try again later.', {
    retryAfterMs,
  });
}
