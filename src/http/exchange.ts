import { type Dialect, tokenOf } from './dialect.ts';
import type { KeptHeaders } from './kept-headers.ts';
import type { Rate } from './limits.ts';
import type { Asked } from './policy.ts';
import type { RequestContext } from './request-context.ts';
import type { Route } from './route-table.ts';

type NewExchange = Pick<Exchange, 'request' | 'path' | 'context' | 'route' | 'malformed' | 'startedAt'>;

/** A request on its way to its answer, and what the steps have found out about it. */
export class Exchange implements Asked {
  /** With an absolute URL, unless `malformed`. */
  readonly request: Request;
  readonly url: string;
  readonly path: string;
  readonly authorization: string | null;
  readonly context: RequestContext;
  readonly route: Route;
  /** True where the request names no host: then nothing but its method is to be believed. */
  readonly malformed: boolean;
  /** Milliseconds; only differences count. */
  readonly startedAt: number;
  /** What the limit of its route says, once it was counted. */
  rate: Rate | null = null;
  /** True once the headers of its answer hold what is of this request alone. */
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

  /** How the client wants to be spoken with; `null`: as ours. */
  get dialect(): Dialect | null {
    return this.route.dialect?.(this.request) ?? null;
  }

  /** The token of the request outside its body, before it is verified. */
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
