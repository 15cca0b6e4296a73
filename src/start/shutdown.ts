import { AppError } from '../errors.ts';
import type { Dependency } from '../http/system-routes.ts';
import { systemClock } from '../lib/clock.ts';
import { within } from '../lib/deadline.ts';
import type { HttpServer } from '../runtime/runtime.ts';
import type { RunningFeature } from './feature.ts';
import type { Operations } from './operations.ts';

/** Time limit for jobs. Unfinished ones continue later from the state in the stores. In ms. */
const JOBS_MS = 4000;

/**
 * The shutdown of a server: it reports that it is not ready, but serves for `delayMs`, so that load balancers notice.
 * Then it accepts nothing new, and running requests may end within `graceMs`. Finally jobs, conversions and stores
 * end.
 */
interface Shutdown {
  /** Fails once the shutdown has begun. */
  dependency: Dependency;
  run(server: HttpServer, features: readonly RunningFeature[], operations: Operations): Promise<void>;
}

export function createShutdown({ delayMs, graceMs }: { delayMs: number; graceMs: number }): Shutdown {
  let begun = false;
  return {
    dependency: {
      fault: 'The server is stopping.',
      needed: 'all',
      async check() {
        if (begun) throw new AppError('unavailable', 'The server is stopping.');
      },
    },
    async run(server, features, { stores, webhooks }) {
      begun = true;
      await systemClock.sleep(delayMs);
      for (const feature of features) feature.endStreams?.();
      await within(graceMs, server.drain()).catch(() => {});
      await server.close();
      await within(JOBS_MS, Promise.all(features.map((feature) => feature.stop()))).catch(() => {});
      await webhooks?.stop();
      await stores.close();
    },
  };
}
