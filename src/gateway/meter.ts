import type { Metrics } from '../lib/metrics.ts';
import type { Kind } from './upstream.ts';

/** How serving a client ended. */
export type Outcome = 'served' | 'no_answer' | 'refused' | 'client_left';

export type Meter = ReturnType<typeof createMeter>;

const REMEMBERED = 1000;

/** Counts what the gateway does, for `/metrics` and the page. */
export function createMeter(metrics: Metrics) {
  const outcomes = metrics.counter('picpool_gateway_requests_total', 'Requests and tunnels by outcome.', [
    'kind',
    'outcome',
  ]);
  const bytes = metrics.counter('picpool_gateway_bytes_total', 'Bytes carried.', ['direction']);
  let requests = 0;
  let served = 0;
  let cut = 0;
  let open = 0;
  const latest: number[] = [];
  metrics.value('picpool_gateway_connections', 'Connections of clients.', () => open);
  metrics.value(
    'picpool_gateway_cut_total',
    'Served requests and tunnels that broke off, or fell silent.',
    () => cut,
  );
  return {
    /** Records that a request was answered, or not; `ms` until the answer began. */
    settled(kind: Kind, outcome: Outcome, ms: number): void {
      outcomes(kind, outcome).inc();
      if (outcome === 'refused' || outcome === 'client_left') return;
      requests++;
      if (outcome === 'no_answer') return;
      latest[served++ % REMEMBERED] = ms;
    },
    /** Records that what was served has broken off. */
    cut(): void {
      cut++;
    },
    bytes: (direction: 'up' | 'down', count: number): void => bytes(direction).inc(count),
    opened(): void {
      open++;
    },
    closed(): void {
      open--;
    },
    /**
     * Returns the totals since the start: requests, those answered to the end, and the 95th percentile of the latest ones in ms.
     */
    summary(): { requests: number; served: number; p95Ms: number | null } {
      const sorted = latest.toSorted((a, b) => a - b);
      return { requests, served: served - cut, p95Ms: sorted[Math.floor(sorted.length * 0.95)] ?? null };
    },
  };
}
