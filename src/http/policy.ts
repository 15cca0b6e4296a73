import type { RateName } from '../lib/rates.ts';
import type { Dialect } from './dialect.ts';
import type { KeptHeaders } from './kept-headers.ts';

/**
 * What a route needs from the request path, declared only with the route. The defaults are safe: counted as `read` or
 * `write` by its method, not cached, open to everyone, and queued.
 */
export interface Policy {
  /** The limit that counts its requests. */
  limit?: RateName;
  /** The limit that counts the bytes of their bodies. */
  bytes?: RateName;
  /** Caches answers to GET. */
  cached?: AnswerCache;
  /** When `ADMIN_TOKEN` is required: always, even if it is not set, or only once it is set. */
  admin?: 'always' | 'once set';
  /** `false`: a GET begins at once, however many wait. */
  queued?: false;
  /** Returns how to answer a request from a client of another service; `null` for any other. */
  dialect?: (request: Request) => Dialect | null;
}

/** A cache for answers, in memory. */
export interface AnswerCache {
  /**
   * Returns the cached answer to a GET, or that of `make`. Returns without a promise if possible, because most
   * requests are answered here. A cached answer gets the headers of the request.
   */
  answer<A extends Asked>(asked: A, make: (asked: A) => Promise<Response>): Response | Promise<Response>;
}

/** A request, as a cache sees it. */
export interface Asked {
  readonly request: Request;
  /** The request's URL. Reading it from the request costs time on each access. */
  readonly url: string;
  /** The header of this name. */
  readonly authorization: string | null;
  /** Writes the values of this request into the headers, and returns them. */
  stamp(kept: KeptHeaders): Headers;
}

/** Declares the policy among a route's options: `{ detail, ...policy({ limit: 'upload' }) }`. */
export function policy(declared: Policy): { policy: Policy } {
  return { policy: declared };
}
