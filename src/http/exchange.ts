import { type Dialect, tokenOf } from './dialect.ts';
import type { KeptHeaders } from './kept-headers.ts';
import type { Rate } from './limits.ts';
import type { Asked } from './policy.ts';
import type { RequestContext } from './request-context.ts';
import type { Route } from './route-table.ts';

type NewExchange = Pick<Exchange, 'request' | 'path' | 'context' | 'route' | 'malformed' | 'startedAt'>;

/** A request on its way to an answer, with what the steps have found out about it. */
export class Exchange implements Asked {
  /** Has an absolute URL unless `malformed`. */
  readonly request: Request;
  readonly url: string;
  readonly path: string;
  readonly authorization: string | null;
  readonly context: RequestContext;
  readonly route: Route;
  /** True if the request names no host. Only its method is reliable then. */
  readonly malformed: boolean;
  /** Milliseconds; only differences count. */
  readonly startedAt: number;
  /** The result of its rate limit, once counted. */
  rate: Rate | null = null;
  /** True once its answer has headers that are specific to this request. */
  stamped = false;

  constructor({ request, path, context, route, malformed, startedAt }: NewExchange) {
    this.request = request;
    this.url = request.url;
    this.path = path;
    this.authorization = request.headers.get('authorization');
    this.context = context;
    this.route = route;
    this.malformed = malformed;
    this.startedAt = startedAt;
  }

  /** How to answer the client; `null`: in our own format. */
  get dialect(): Dialect | null {
    return this.route.dialect?.(this.request) ?? null;
  }

  /** The unverified token of the request, unless it is in the body. */
  get token(): string | null {
    return tokenOf(this.request, this.authorization, this.dialect);
  }

  /** True for a request that changes nothing. */
  get reading(): boolean {
    const { method } = this.route;
    return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  }

  stamp(kept: KeptHeaders): Headers {
    this.stamped = true;
    kept.stamp(this.context.id, this.rate);
    return kept.headers;
  }
}
