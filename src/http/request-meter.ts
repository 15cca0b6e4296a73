import type { Histogram, Metrics } from '../lib/metrics.ts';
import type { Plan } from './exchange.ts';
import type { Matched } from './route-table.ts';

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
