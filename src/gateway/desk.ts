import type { Engine } from './engine.ts';
import type { Idle } from './idle.ts';
import type { Meter } from './meter.ts';
import type { Relay } from './relay.ts';
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
  /** Open tunnels; idle ones are cut. */
  relays: Set<Relay>;
}
