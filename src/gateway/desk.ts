import type { Engine } from './engine.ts';
import type { Idle } from './idle.ts';
import type { Meter } from './meter.ts';
import type { Target } from './target.ts';

/** What serving any client needs. */
export interface Desk {
  engine: Engine;
  meter: Meter;
  /** A monotonic clock in ms. */
  monotonic: () => number;
  /** CONNECT is answered only after an upstream has answered it. */
  strict: boolean;
  /** Throws `target_refused` for a target that must not be reached. */
  check: (target: Target) => void;
  /** Connections to proxies that can be reused. */
  idle: Idle;
  /** Open tunnels and responses on their way; idle ones are cut. */
  carriers: Set<Carrier>;
}

/** Carries bytes between a client and an upstream. */
export interface Carrier {
  readonly startedAt: number;
  /** When data last moved. All times are on the monotonic clock. */
  readonly movedAt: number;
  /** True once one side sends no more, but the other may. */
  readonly halfClosed: boolean;
  /** Ends both connections. */
  cut(): void;
}
