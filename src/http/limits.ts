import { AppError, inEnglish, message } from '../errors.ts';
import { clientNetwork } from '../lib/address.ts';
import { remember } from '../lib/bounded-map.ts';
import type { Bucket, RateLimiter, Verdict } from '../lib/rate-limiter.ts';
import type { RateName, Rates } from '../lib/rates.ts';
import { createShares } from '../lib/shares.ts';
import type { Rate } from './kept-headers.ts';
import type { Matched } from './route-table.ts';

/**
 * Counts more of a limit for an address. Rejects with `rate_limited`. `cost`: default one. At most what a full limit has
 * left after a request, or some requests would never be possible.
 */
export type Recount = (peer: string, cost?: number) => Promise<void>;

/** Counts a request of a client. Waits only if the limiter does. */
export type Count = (request: Request, peer: string) => Limited | Promise<Limited>;

export interface Limited extends Rate {
  /** `rate_limited` if the request is refused. */
  refusal: AppError | null;
}

type Take = (peer: string, cost?: number) => Limited | Promise<Limited>;

interface LimitOptions {
  limiter: RateLimiter;
  rates: Rates;
  /** What a body of unknown length counts, and the maximum that any body counts, in bytes. */
  maxUploadBytes: number;
}

/** Number of clients, for each limit, whose bucket names are remembered. */
const MAX_CLIENTS = 10_000;

/** Creates limits for each client address. */
export function createLimits({ limiter, rates, maxUploadBytes }: LimitOptions) {
  const { upload_bytes } = rates;
  // Room for one upload of the maximum size, even if that exceeds the limit.
  const capacity = Math.max(upload_bytes.capacity, maxUploadBytes);
  const buckets: Rates = { ...rates, upload_bytes: { ...upload_bytes, capacity } };
  const takers = new Map<RateName, Take>();

  function takerOf(name: RateName): Take {
    const known = takers.get(name);
    if (known) return known;
    const bucket = buckets[name];
    const keyFor = remember(MAX_CLIENTS, (peer) => `${name} ${clientNetwork(peer)}`);
    const take: Take = (peer, cost) => {
      const verdict = limiter.take(keyFor(peer), bucket, cost);
      return verdict instanceof Promise
        ? verdict.then((later) => judge(name, bucket, later))
        : judge(name, bucket, verdict);
    };
    takers.set(name, take);
    return take;
  }

  function judge(name: RateName, { capacity }: Bucket, verdict: Verdict): Limited {
    const { allowed, remaining, resetMs, retryAfterMs } = verdict;
    const refusal = allowed ? null : tooMany(name, retryAfterMs);
    return { limit: capacity, remaining, reset: Math.ceil(resetMs / 1000), refusal };
  }

  return {
    /** Returns how to count the requests of a route. */
    of({ limit, bytes }: Pick<Matched, 'limit' | 'bytes'>): Count {
      const take = takerOf(limit);
      if (bytes === undefined) return (_request, peer) => take(peer);
      const takeBytes = takerOf(bytes);
      return async (request, peer) => {
        const counted = await take(peer);
        if (counted.refusal) return counted;
        const cost = Math.min(announcedBytes(request) ?? maxUploadBytes, maxUploadBytes);
        const weighed = await takeBytes(peer, cost);
        return weighed.refusal ? weighed : counted;
      };
    },

    /** Creates the count of what requests turn out to cost beyond the one that each is counted as. */
    recount(name: RateName): Recount {
      const take = takerOf(name);
      const most = Math.max(1, buckets[name].capacity - 1);
      return async (peer, cost = 1) => {
        const { refusal } = await take(peer, Math.min(cost, most));
        if (refusal) throw refusal;
      };
    },
  };
}

export type Limits = ReturnType<typeof createLimits>;

function tooMany(name: RateName, retryAfterMs: number): AppError {
  const said = message('Too many requests of the kind "{kind}" from your address.', { kind: name });
  return new AppError('rate_limited', said, { retryAfterMs });
}

function announcedBytes({ headers }: Request): number | null {
  const length = headers.get('content-length');
  return length !== null && /^\d+$/.test(length) ? Number(length) : null;
}

/** Takes a place among the requests of one client that are being answered; see `Shares.enter`. */
export type InFlight = (client: string, route: Pick<Matched, 'bytes'>) => () => void;

/** A browser has six connections to a server, a program that fetches in parallel some dozens. */
const MOST_REQUESTS = 256;
/** Each takes some 3 MiB while it arrives. */
const MOST_UPLOADS = 32;

/** Cached answers take no place, because they are sent at once. */
export function createInFlight(): InFlight {
  const requests = createShares({
    each: MOST_REQUESTS,
    fullMessage: inEnglish(
      `More than ${MOST_REQUESTS} of your requests are being answered; wait for one to end.`,
    ),
  });
  const uploads = createShares({
    each: MOST_UPLOADS,
    fullMessage: inEnglish(`More than ${MOST_UPLOADS} of your uploads are arriving; wait for one to end.`),
  });
  return (client, { bytes }) => (bytes === undefined ? requests : uploads).enter(client);
}

interface PatienceOptions {
  sleep: (ms: number) => Promise<void>;
  /** Milliseconds; only differences count. */
  now: () => number;
  /** 0 to 1; spreads requests that came together. */
  random: () => number;
}

/** Number of refusals a second that are not delayed. */
const AT_ONCE = 20;
const LEAST_MS = 1000;
const MOST_MS = 3000;
/** Maximum number of delayed requests of all clients; some 20 MB. More are refused at once. */
const MAX_HELD = 20_000;

export function createPatience({ sleep, now, random }: PatienceOptions) {
  /** Refusals in this second, by client. */
  const refused = new Map<string, number>();
  let second = Number.NEGATIVE_INFINITY;
  let held = 0;

  return {
    /** Returns how long to delay this refusal, or `null` for the first ones of each second, which are not delayed. */
    holdBack(client: string): Promise<void> | null {
      if (now() - second >= 1000) {
        second = now();
        refused.clear();
      }
      const before = refused.get(client) ?? 0;
      refused.set(client, before + 1);
      if (before < AT_ONCE || held >= MAX_HELD) return null;
      held++;
      return sleep(LEAST_MS + random() * (MOST_MS - LEAST_MS)).finally(() => {
        held--;
      });
    },
  };
}

/**
 * Delays the refusals of a client that ignores them. Otherwise a client that retries at once over thousands of
 * connections would use up the processor with refusals alone.
 */
export type Patience = ReturnType<typeof createPatience>;
