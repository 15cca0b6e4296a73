import type { Histogram, Metrics } from '../lib/metrics.ts';
import type { Route } from './route-table.ts';

/** In seconds, from cached answers to conversions that time out. */
const BUCKETS = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Counts an answered request; `ms` until its headers were complete. */
export type RequestMeter = (route: Route, status: number, ms: number) => void;

/** Counts requests by route, method and status. A request costs two map lookups. */
export function createRequestMeter(metrics: Metrics): RequestMeter {
  const duration = metrics.histogram({
    name: 'picpool_http_request_duration_seconds',
    help: 'Time from a request to the headers of its answer.',
    labelNames: ['route', 'method', 'status'],
    buckets: BUCKETS,
  });
  const byRoute = new Map<Route, Map<number, Histogram>>();

  return (route, status, ms) => {
    let series = byRoute.get(route);
    if (!series) {
      series = new Map();
      byRoute.set(route, series);
    }
    let histogram = series.get(status);
    if (!histogram) {
      histogram = duration(route.name, route.method, String(status));
      series.set(status, histogram);
    }
    histogram.observe(ms / 1000);
  };
}
