import { AppError } from '../errors.ts';
import type { Dependency } from '../http/system-routes.ts';
import { systemClock } from '../lib/clock.ts';
import { within } from '../lib/deadline.ts';
import type { HttpServer } from '../runtime/runtime.ts';
import type { RunningFeature } from './feature.ts';
import type { Operations } from './operations.ts';

/** Jobs that do not end by then are left to the stores, which know where they were. In ms. */
const JOBS_MS = 4000;

/**
 * The end of a server: it is not ready any more, but serves for `delayMs`, in which balancers notice; then it takes nothing
 * new, and what runs may end within `graceMs`; then jobs, conversions and stores end.
 */
export interface Shutdown {
  /** Fails once the end has begun. */
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
