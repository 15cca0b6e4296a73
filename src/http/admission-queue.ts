import { setImmediate } from 'node:timers';
import { AppError, inEnglish } from '../errors.ts';
import type { Metrics } from '../lib/metrics.ts';

/**
 * Tells a caller that too many requests wait. It is not logged, because a flood of requests would fill the log as
 * well.
 */
export class Overloaded extends AppError {
  constructor() {
    super('unavailable', inEnglish('The server is overloaded; try again later.'), { retryAfterMs: 1000 });
  }
}

/** Number of requests that begin in one turn. An expensive page takes 0.3 ms, and ten times that in the first second of a process. */
const PER_TURN = 4;
/** About a second of work. Clients that would wait longer are refused. */
const MAX_WAITING = 2000;

/**
 * Spreads expensive requests over the turns of the event loop. If hundreds arrive at once, each turn begins a few of
 * them, in order. Health checks and cached answers do not wait here, so they are at most some milliseconds away.
 */
export function createAdmissionQueue(metrics?: Metrics) {
  const waiting: (() => void)[] = [];
  /** Requests begun in this turn. */
  let begun = 0;
  const refused = metrics?.counter(
    'picpool_http_overloaded_total',
    'Requests refused because too many waited.',
  );
  metrics?.value(
    'picpool_http_waiting',
    'Requests that wait for their turn of the event loop.',
    () => waiting.length,
  );

  function begin(count: number): void {
    if (begun === 0) setImmediate(turnOver);
    begun += count;
  }

  function turnOver(): void {
    begun = 0;
    const now = waiting.splice(0, PER_TURN);
    if (now.length > 0) begin(now.length);
    for (const go of now) go();
  }

  return {
    /** Resolves when the request may begin. Rejects with `Overloaded` if too many already wait. */
    async next(): Promise<void> {
      if (begun < PER_TURN) return begin(1);
      if (waiting.length < MAX_WAITING) return new Promise((resolve) => waiting.push(resolve));
      refused?.().inc();
      throw new Overloaded();
    },
  };
}
