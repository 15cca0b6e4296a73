import { AppError } from '../errors.ts';
import type { RequestContext } from '../shared/context.ts';
import type { Bucket, RateLimiter, Verdict } from '../shared/rate-limiter.ts';

interface Rule {
  name: string;
  methods: readonly string[];
  /** Matches the end of the path, so that a base path does not matter. */
  path: RegExp;
  bucket: Bucket;
}

const WRITES = ['POST', 'PUT', 'DELETE', 'PATCH'];

/** The first rule that fits counts. Each is what a person or a well-behaved script never reaches. */
const RULES: readonly Rule[] = [
  { name: 'upload', methods: WRITES, path: /\/api\/upload$/, bucket: { capacity: 60, perSecond: 1 } },
  { name: 'test', methods: WRITES, path: /\/test(_proxy_quick)?$/, bucket: { capacity: 60, perSecond: 1 } },
  {
    name: 'job',
    methods: WRITES,
    path: /\/api\/(refresh|cleanup)$/,
    bucket: { capacity: 10, perSecond: 1 / 30 },
  },
  { name: 'write', methods: WRITES, path: /$/, bucket: { capacity: 120, perSecond: 2 } },
];

const READS: Rule = { name: 'read', methods: [], path: /$/, bucket: { capacity: 2000, perSecond: 200 } };

/** Counts a request against the limit of its kind for its client. */
export type Limits = (request: Request, context: RequestContext) => Promise<RateHeaders>;

export type RateHeaders = Record<string, string>;

/**
 * Limits per client address. Answers the `RateLimit-*` headers of a request that may pass.
 * The returned function rejects with `rate_limited` where it may not.
 */
export function createLimits(limiter: RateLimiter): Limits {
  return async (request, { peer }) => {
    const rule = ruleOf(request);
    const verdict = await limiter.take(`${rule.name} ${clientKey(peer)}`, rule.bucket);
    if (verdict.allowed) return rateHeaders(rule.bucket, verdict);
    throw new AppError('rate_limited', `Too many requests of the kind "${rule.name}" from your address.`, {
      retryAfterMs: verdict.retryAfterMs,
    });
  };
}

function ruleOf(request: Request): Rule {
  if (request.method === 'GET' || request.method === 'HEAD') return READS;
  const { pathname } = new URL(request.url);
  return RULES.find(({ methods, path }) => methods.includes(request.method) && path.test(pathname)) ?? READS;
}

/** One customer commonly holds a whole IPv6 /64. */
function clientKey(peer: string): string {
  if (!peer.includes(':')) return peer;
  const [head = '', tail = ''] = peer.split('::');
  const groups = head.split(':');
  while (groups.length < 4 && tail === '') groups.push('0');
  return groups.slice(0, 4).join(':');
}

function rateHeaders({ capacity }: Bucket, { remaining, resetMs }: Verdict): RateHeaders {
  return {
    'ratelimit-limit': String(capacity),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(Math.ceil(resetMs / 1000)),
  };
}
