import type { Stores } from '../../adapters/open.ts';
import type { Config, Environment } from '../config.ts';
import type { Feature } from '../feature.ts';
import type { ContextOf } from '../http/request-context.ts';
import type { Dependency } from '../http/system-routes.ts';
import type { System } from '../lib/linux/system.ts';
import type { Log } from '../lib/logger.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Operations } from './operations.ts';
import type { Web } from './web.ts';

/** What a service is put together from. */
export interface Parts {
  runtime: Runtime;
  config: Config;
  /** Of which the conversion processes get the harmless part. */
  env: Environment;
  /** System calls of Linux, if there are any. */
  system: System | null;
  stores: Stores;
  contextOf: ContextOf;
  log: Log;
  operations: Operations;
  web: Pick<Web, 'siteOf' | 'path'>;
}

/** A service as the application mounts it, with its life. */
export interface RunningFeature extends Feature {
  /** What must work for it to be ready. */
  dependencies: readonly Dependency[];
  /** True for an address from which others than its owner may come. */
  isExit?(address: string): boolean;
  /** What else it listens on, by name. */
  addresses?: Record<string, string>;
  /** How conversions are sandboxed, as far as it is known at the start. */
  sandbox?: string;
  /** Ends answers that have no end of their own. */
  endStreams?(): void;
  /** Begins its timers and jobs; called once the server listens. */
  begin(): void;
  /** Ends them, and whatever answer is still being streamed. Idempotent. */
  stop(): Promise<void>;
}
