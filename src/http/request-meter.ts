import type { Histogram, Metrics } from '../lib/metrics.ts';
import type { Route } from './methods.ts';
import { createRouteNames } from './route-names.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'];

/** From kept answers to conversions that time out, in seconds. */
const BUCKETS = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Counts an answered request: how long it took until the answer's headers stood, in ms. */
export type RequestMeter = (method: string, path: string, status: number, ms: number) => void;

/** Requests by route, method and status. A request costs two look-ups in maps. */
export function createRequestMeter(metrics: Metrics, routes: readonly Route[]): RequestMeter {
  const duration = metrics.histogram({
    name: 'picpool_http_request_duration_seconds',
    help: 'Time from a request to the headers of its answer.',
    labelNames: ['route', 'method', 'status'],
    buckets: BUCKETS,
  });
  const nameOf = createRouteNames(routes);
  const byRoute = new Map<string, Map<number, Histogram>>();

  return (method, path, status, ms) => {
    const route = nameOf(path);
    let series = byRoute.get(route);
    if (!series) {
      series = new Map();
      byRoute.set(route, series);
    }
    const key = METHODS.indexOf(method) * 1000 + status;
    let histogram = series.get(key);
    if (!histogram) {
      const known = METHODS.includes(method) ? method : 'other';
      histogram = duration(route, known, String(status));
      series.set(key, histogram);
    }
    histogram.observe(ms / 1000);
  };
}
