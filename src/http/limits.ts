import { AppError } from '../errors.ts';
import { clientNetwork } from '../lib/address.ts';
import type { Bucket, RateLimiter, Verdict } from '../lib/rate-limiter.ts';
import type { RateName, Rates } from '../lib/rates.ts';
import { remember } from '../lib/remember.ts';
import type { Route } from './route-table.ts';

/** Values of the headers `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`. */
export interface Rate {
  readonly limit: number;
  readonly remaining: number;
  /** In seconds. */
  readonly reset: number;
}

/** Counts a request against the limits of its route for its client. Waits only if the limiter does. */
export type Limits = (
  request: Request,
  route: Pick<Route, 'limit' | 'bytes'>,
  peer: string,
) => Limited | Promise<Limited>;

export interface Limited extends Rate {
  /** `rate_limited` if the request is refused. */
  refusal: AppError | null;
}

export interface LimitOptions {
  limiter: RateLimiter;
  rates: Rates;
  /** What a body of unknown length counts, and the maximum that any body counts, in bytes. */
  maxUploadBytes: number;
  /** Called for each refused request. */
  onRefused?: (name: RateName) => void;
}

/** Number of clients, for each limit, whose bucket names are remembered. */
const MAX_CLIENTS = 10_000;

/** Creates limits for each client address. */
export function createLimits({ limiter, rates, maxUploadBytes, onRefused }: LimitOptions): Limits {
  const buckets = bucketsOf(rates, maxUploadBytes);
  const keys = new Map<RateName, (peer: string) => string>();

  function keyFor(name: RateName): (peer: string) => string {
    const made = remember(MAX_CLIENTS, (peer) => keyOf(name, clientNetwork(peer)));
    keys.set(name, made);
    return made;
  }

  function take(name: RateName, peer: string, cost?: number): Limited | Promise<Limited> {
    const bucket = buckets[name];
    const key = (keys.get(name) ?? keyFor(name))(peer);
    const verdict = limiter.take(key, bucket, cost);
    return verdict instanceof Promise
      ? verdict.then((known) => judge(name, bucket, known))
      : judge(name, bucket, verdict);
  }

  function judge(name: RateName, { capacity }: Bucket, verdict: Verdict): Limited {
    const { allowed, remaining, resetMs, retryAfterMs } = verdict;
    if (!allowed) onRefused?.(name);
    const refusal = allowed ? null : tooMany(name, retryAfterMs);
    return { limit: capacity, remaining, reset: Math.ceil(resetMs / 1000), refusal };
  }

  async function takeBoth(limit: RateName, bytes: RateName, peer: string, cost: number): Promise<Limited> {
    const counted = await take(limit, peer);
    if (counted.refusal) return counted;
    const weighed = await take(bytes, peer, cost);
    return weighed.refusal ? weighed : counted;
  }

  return (request, { limit, bytes }, peer) => {
    if (bytes === null) return take(limit, peer);
    const cost = Math.min(announcedBytes(request) ?? maxUploadBytes, maxUploadBytes);
    return takeBoth(limit, bytes, peer, cost);
  };
}

/** Makes room for one upload of the maximum size, even if that exceeds the limit. */
function bucketsOf(rates: Rates, maxUploadBytes: number): Rates {
  const { upload_bytes } = rates;
  const capacity = Math.max(upload_bytes.capacity, maxUploadBytes);
  return { ...rates, upload_bytes: { ...upload_bytes, capacity } };
}

/**
 * Counts what a request turned out to cost beyond what was already counted. Rejects with `rate_limited`. `cost`:
 * default one.
 */
export function createRecount(
  { limiter, rates, maxUploadBytes, onRefused }: LimitOptions,
  name: RateName,
): (peer: string, cost?: number) => Promise<void> {
  const bucket = bucketsOf(rates, maxUploadBytes)[name];
  return async (peer, cost = 1) => {
    const { allowed, retryAfterMs } = await limiter.take(
      keyOf(name, clientNetwork(peer)),
      bucket,
      Math.min(cost, bucket.capacity),
    );
    if (allowed) return;
    onRefused?.(name);
    throw tooMany(name, retryAfterMs);
  };
}

function keyOf(name: RateName, client: string): string {
  return `${name} ${client}`;
}

function tooMany(name: RateName, retryAfterMs: number): AppError {
  const sentence = `Too many requests of the kind "${name}" from your address.`;
  return new AppError('rate_limited', sentence, { retryAfterMs });
}

function announcedBytes({ headers }: Request): number | null {
  const length = headers.get('content-length');
  return length !== null && /^\d+$/.test(length) ? Number(length) : null;
}
