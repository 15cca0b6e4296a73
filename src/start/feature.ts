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

/** What a service is created from. */
export interface Parts {
  runtime: Runtime;
  config: Config;
  /** Conversion processes get only the harmless part of it. */
  env: Environment;
  /** System calls of Linux, if there are any. */
  system: System | null;
  stores: Stores;
  contextOf: ContextOf;
  log: Log;
  operations: Operations;
  web: Pick<Web, 'siteOf' | 'path'>;
}

/** A service as the application mounts it, with its life cycle. */
export interface RunningFeature extends Feature {
  /** What must work for it to be ready. */
  dependencies: readonly Dependency[];
  /** Reports whether others than its owner may use an address. */
  isExit?(address: string): boolean;
  /** What else it listens on, by name. */
  addresses?: Record<string, string>;
  /** How conversions are sandboxed, as far as it is known at the start. */
  sandbox?: string;
  /** Ends endless responses. */
  endStreams?(): void;
  /** Starts its timers and jobs. Called once the server listens. */
  begin(): void;
  /** Stops them, and any response still being streamed. Idempotent. */
  stop(): Promise<void>;
}
