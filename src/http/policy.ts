import type { RateName } from '../lib/rates.ts';
import type { Dialect } from './dialect.ts';
import type { KeptHeaders } from './kept-headers.ts';

/**
 * What a route needs of the request path, declared only with the route. Defaults are safe:
 * counted as `read` or `write` by its method, made again for each request, open to everyone, and queued.
 */
export interface Policy {
  /** The limit that counts its requests. */
  limit?: RateName;
  /** The limit that counts the bytes of their bodies. */
  bytes?: RateName;
  /** Gives answers to GET that need not be made again. */
  cached?: AnswerCache;
  /** When `ADMIN_TOKEN` is required: always, even if it is not set, or only once it is set. */
  admin?: 'always' | 'once set';
  /** `false`: a GET is begun at once, however many wait. */
  queued?: false;
  /** How a request is spoken with, where it may come from a client of another service; `null` for any other. */
  dialect?: (request: Request) => Dialect | null;
}

/** Answers that are kept in memory. */
export interface AnswerCache {
  /**
   * Returns the kept answer to a GET, or that of `make`. It comes without a promise where it can, for most requests are
   * answered here. The headers of a kept answer are stamped before it is made of them.
   */
  answer<A extends Asked>(asked: A, make: (asked: A) => Promise<Response>): Response | Promise<Response>;
}

/** A request, as a cache sees it. */
export interface Asked {
  readonly request: Request;
  /** That of the request; each look at that one costs. */
  readonly url: string;
  /** The header of this name. */
  readonly authorization: string | null;
  /** Writes what is of this request alone into the headers, and returns them. */
  stamp(kept: KeptHeaders): Headers;
}

/** Declares the policy among the options of a route: `{ detail, ...policy({ limit: 'upload' }) }`. */
export function policy(declared: Policy): { policy: Policy } {
  return { policy: declared };
}
