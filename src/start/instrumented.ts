import type { Histogram, Metrics } from '../lib/metrics.ts';
import type { RateLimiter } from '../lib/rate-limiter.ts';

/** Measures the calls of stores: how long each took, and whether it succeeded. */
type InstrumentStore = <T extends object>(name: string, store: T) => T;

/** In seconds, from answers out of memory to the longest that people wait. */
const BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

/** Called for every request and answered from memory: measuring it would cost more than the call. */
const UNMEASURED = 'version';

/** Creates a decorator for stores. Calls that return no promise (streams) are not measured. */
export function instrumentStores(metrics: Metrics, now: () => number): InstrumentStore {
  const duration = metrics.histogram({
    name: 'picpool_store_call_duration_seconds',
    help: 'Duration of store calls.',
    labelNames: ['store', 'call', 'outcome'],
    buckets: BUCKETS,
  });

  return (name, store) => {
    const measured = Object.entries(store).flatMap(([call, method]) => {
      if (typeof method !== 'function' || call === UNMEASURED) return [];
      let good: Histogram | undefined;
      const wrapper = (...args: unknown[]) => {
        const startedAt = now();
        const answer: unknown = method(...args);
        if (!(answer instanceof Promise)) return answer;
        return answer.then(
          (value) => {
            good ??= duration(name, call, 'ok');
            good.observe((now() - startedAt) / 1000);
            return value;
          },
          (error: unknown) => {
            duration(name, call, 'error').observe((now() - startedAt) / 1000);
            throw error;
          },
        );
      };
      return [[call, wrapper] as const];
    });
    return Object.assign(Object.create(store), Object.fromEntries(measured));
  };
}

/** Reports each refusal by the first word of its key, which names the limit. */
export function instrumentLimiter(limiter: RateLimiter, onRefused: (name: string) => void): RateLimiter {
  return {
    async take(key, bucket, cost) {
      const verdict = await limiter.take(key, bucket, cost);
      if (!verdict.allowed) onRefused(key.slice(0, key.indexOf(' ')));
      return verdict;
    },
  };
}
