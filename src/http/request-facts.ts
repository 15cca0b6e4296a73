import { type Facts, FrequentFacts, quoted } from '../lib/logger.ts';
import type { Histogram, Metrics } from '../lib/metrics.ts';
import type { RequestContext } from './context.ts';
import type { Exchange, Plan } from './exchange.ts';
import type { Matched } from './route-table.ts';

type Logged = Pick<Exchange, 'request' | 'path'> & { context: Pick<RequestContext, 'id' | 'peer'> };

/** What is logged about each request. */
export class RequestFacts extends FrequentFacts {
  readonly #exchange: Logged;
  readonly #status: number;
  readonly #ms: number;

  /** `ms`: until the headers of the answer were complete. */
  constructor(exchange: Logged, status: number, ms: number) {
    super();
    this.#exchange = exchange;
    this.#status = status;
    this.#ms = Math.round(ms);
  }

  plain(): Facts {
    const { context, request, path } = this.#exchange;
    return {
      request_id: context.id,
      method: request.method,
      path,
      status: this.#status,
      ms: this.#ms,
      peer: context.peer,
    };
  }

  members(): string {
    const { context, request, path } = this.#exchange;
    // An ID needs no escapes; see the context.
    return `"request_id":"${context.id}","method":${quoted(request.method)},"path":${quoted(path)},"status":${this.#status},"ms":${this.#ms},"peer":${quoted(context.peer)}`;
  }
}

/** In seconds, from cached answers to conversions that time out. */
const BUCKETS = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Returns how to count the answers of a route: by route, method and status. */
export function createRequestMeter(metrics: Metrics) {
  const duration = metrics.histogram(
    'picpool_http_request_duration_seconds',
    'Time from a request to the headers of its answer.',
    ['route', 'method', 'status'],
    BUCKETS,
  );

  return ({ name, method }: Matched): NonNullable<Plan['count']> => {
    const byStatus = new Map<number, Histogram>();
    return (status, ms) => {
      let histogram = byStatus.get(status);
      if (!histogram) {
        histogram = duration(name, method, String(status));
        byStatus.set(status, histogram);
      }
      histogram.observe(ms / 1000);
    };
  };
}
