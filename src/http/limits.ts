import { AppError } from '../errors.ts';
import { clientNetwork } from '../lib/address.ts';
import type { Bucket, RateLimiter, Verdict } from '../lib/rate-limiter.ts';
import type { RateName, Rates } from '../lib/rates.ts';
import type { RequestContext } from './request-context.ts';
import { pathOf } from './target.ts';

/** Of the requests that change something, the first whose path ends like this counts. */
const WRITES: readonly { name: RateName; path: RegExp }[] = [
  { name: 'upload', path: /\/api\/upload$/ },
  { name: 'test', path: /\/test(_proxy_quick)?$/ },
  { name: 'report', path: /\/report$/ },
  { name: 'job', path: /\/api\/(refresh|cleanup)$/ },
  { name: 'write', path: /$/ },
];

/** Counts a request against the limits of its kind for its client. */
export type Limits = (request: Request, context: RequestContext) => Promise<Limited>;

export interface Limited {
  /** The `RateLimit-*` headers of the answer. */
  headers: RateHeaders;
  /** `rate_limited` where the request may not pass. */
  refusal: AppError | null;
}

export type RateHeaders = Record<string, string>;

export interface LimitOptions {
  limiter: RateLimiter;
  rates: Rates;
  /** What an upload counts whose length is not announced, and the most that one counts, in bytes. */
  maxUploadBytes: number;
  /** Told of each request that was refused. */
  onRefused?: (name: RateName) => void;
}

/** Limits per client address. */
export function createLimits({ limiter, rates, maxUploadBytes, onRefused }: LimitOptions): Limits {
  const uploadBytes = {
    ...rates.upload_bytes,
    capacity: Math.max(rates.upload_bytes.capacity, maxUploadBytes),
  };

  async function take(name: RateName, bucket: Bucket, peer: string, cost?: number): Promise<Limited> {
    const verdict = await limiter.take(`${name} ${clientNetwork(peer)}`, bucket, cost);
    const headers = rateHeaders(bucket, verdict);
    if (verdict.allowed) return { headers, refusal: null };
    onRefused?.(name);
    const refusal = new AppError(
      'rate_limited',
      `Too many requests of the kind "${name}" from your address.`,
      { retryAfterMs: verdict.retryAfterMs },
    );
    return { headers, refusal };
  }

  return async (request, { peer }) => {
    const name = kindOf(request);
    const limited = await take(name, rates[name], peer);
    if (name !== 'upload' || limited.refusal) return limited;
    const cost = Math.min(announcedBytes(request) ?? maxUploadBytes, maxUploadBytes);
    const bytes = await take('upload_bytes', uploadBytes, peer, cost);
    return bytes.refusal ? bytes : limited;
  };
}

function kindOf({ method, url }: Request): RateName {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return 'read';
  const pathname = pathOf(url);
  return WRITES.find(({ path }) => path.test(pathname))?.name ?? 'write';
}

function announcedBytes({ headers }: Request): number | null {
  const length = headers.get('content-length');
  return length !== null && /^\d+$/.test(length) ? Number(length) : null;
}

function rateHeaders({ capacity }: Bucket, { remaining, resetMs }: Verdict): RateHeaders {
  return {
    'ratelimit-limit': String(capacity),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(Math.ceil(resetMs / 1000)),
  };
}
