import type { Stores } from '../../adapters/open.ts';
import type { ModeratedPictures } from '../admin/pictures.ts';
import type { Config, Environment } from '../config.ts';
import type { Feature } from '../feature.ts';
import type { FindingSource } from '../findings/finding.ts';
import { answering } from '../findings/readiness.ts';
import { systemClock } from '../lib/clock.ts';
import { within } from '../lib/deadline.ts';
import type { Log } from '../lib/logger.ts';
import type { HttpServer, Runtime } from '../runtime/runtime.ts';
import type { Operations } from './operations.ts';
import type { Web } from './web.ts';

/** What a service is created from. */
export interface Parts {
  runtime: Runtime;
  config: Config;
  /** Conversion processes get only the harmless part of it. */
  env: Environment;
  stores: Stores;
  log: Log;
  operations: Operations;
  web: Pick<Web, 'siteOf' | 'path'>;
}

/** A service as the application mounts it, with its life cycle. */
export interface RunningFeature extends Feature {
  /** What must work for it to be ready. */
  health: readonly FindingSource[];
  /** Reports whether others than its owner may use an address. */
  isExit?(address: string): boolean;
  /** What else it listens on, by name. */
  addresses?: Record<string, string>;
  /** Starts a process for conversions and says how it is sandboxed. Never rejects. */
  sandbox?(): Promise<string>;
  /** What moderators see of its pictures. */
  pictures?: ModeratedPictures;
  /** Ends endless responses, and takes nothing new on ports of its own. Resolves when nothing is under way there any more. */
  drain?(): Promise<void>;
  /** Starts its timers and jobs. Called once the server listens. */
  begin(): void;
  /** Stops them, and any response still being streamed. Idempotent. */
  stop(): Promise<void>;
}

/** Time limit for jobs. Unfinished ones continue later from the state in the stores. In ms. */
const JOBS_MS = 4000;

/**
 * The shutdown of a server: it reports that it is not ready, but serves for `delayMs`, so that load balancers notice.
 * Then it accepts nothing new, and running requests may end within `graceMs`. Finally jobs, conversions and stores end.
 */
export function createShutdown({ delayMs, graceMs }: { delayMs: number; graceMs: number }) {
  let begun = false;
  return {
    /** Fails once the shutdown has begun. */
    source: answering(
      'The server is stopping.',
      async () => {
        if (begun) throw new Error('stopping');
      },
      'all',
    ),
    async run(
      server: HttpServer,
      features: readonly RunningFeature[],
      { stores, webhooks, audit, usage }: Operations,
    ): Promise<void> {
      begun = true;
      await systemClock.sleep(delayMs);
      const draining = features.map((feature) => feature.drain?.());
      // One that fails does not cut what the others have under way.
      await within(graceMs, Promise.allSettled([...draining, server.drain()])).catch(() => {});
      await server.close();
      await within(JOBS_MS, Promise.all(features.map((feature) => feature.stop()))).catch(() => {});
      await within(JOBS_MS, Promise.all([audit.stop(), usage.stop(), webhooks?.stop()])).catch(() => {});
      await stores.close();
    },
  };
}
