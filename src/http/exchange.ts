import type { RequestContext } from './context.ts';
import { type Dialect, tokenOf } from './dialect.ts';
import type { KeptHeaders, Rate } from './kept-headers.ts';
import type { Asked } from './response-cache.ts';
import type { Matched } from './route-table.ts';

/** Lets a request pass by returning nothing, answers it, or throws why it is refused. */
export type Step = (exchange: Exchange) => Response | undefined | Promise<Response | undefined>;

/** What is done with each request of a route. */
export interface Plan {
  readonly route: Matched;
  /** In order; the last one answers. */
  readonly steps: readonly Step[];
  /** Counts an answer; `ms` until its headers were complete. */
  readonly count: ((status: number, ms: number) => void) | null;
}

type NewExchange = Pick<Exchange, 'request' | 'path' | 'context' | 'plan' | 'malformed' | 'startedAt'>;

/** A request on its way to an answer, with what the steps have found out about it. */
export class Exchange implements Asked {
  /** Has an absolute URL unless `malformed`. */
  readonly request: Request;
  readonly url: string;
  readonly path: string;
  readonly authorization: string | null;
  readonly context: RequestContext;
  readonly plan: Plan;
  /** True if the request names no host. Only its method is reliable then. */
  readonly malformed: boolean;
  /** Milliseconds; only differences count. */
  readonly startedAt: number;
  /** The result of its rate limit, once counted. */
  rate: Rate | null = null;
  /** True once its answer has headers that are specific to this request. */
  stamped = false;

  constructor({ request, path, context, plan, malformed, startedAt }: NewExchange) {
    this.request = request;
    this.url = request.url;
    this.path = path;
    this.authorization = request.headers.get('authorization');
    this.context = context;
    this.plan = plan;
    this.malformed = malformed;
    this.startedAt = startedAt;
  }

  get route(): Matched {
    return this.plan.route;
  }

  /** How to answer the client; `null`: in our own format. */
  get dialect(): Dialect | null {
    return this.context.dialect ?? this.route.dialect?.(this.request) ?? null;
  }

  /** The unverified token of the request, unless it is in the body. */
  get token(): string | null {
    return tokenOf(this.request, this.authorization, this.dialect);
  }

  stamp(kept: KeptHeaders): Headers {
    this.stamped = true;
    kept.stamp(this.context.id, this.rate);
    return kept.headers;
  }
}
