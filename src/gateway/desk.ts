import type { Engine } from './engine.ts';
import type { Idle } from './idle.ts';
import type { Meter } from './meter.ts';
import type { Relay } from './relay.ts';
import type { Target } from './target.ts';

/** What the work for every client needs. */
export interface Desk {
  engine: Engine;
  meter: Meter;
  /** A clock in ms that never goes back. */
  monotonic: () => number;
  /** CONNECT is answered only once an upstream has answered it. */
  strict: boolean;
  /** Throws `target_refused` for a target that must not be reached. */
  check: (target: Target) => void;
  /** Connections to proxies that may be used again. */
  idle: Idle;
  /** Tunnels that are open; the idle ones are cut. */
  relays: Set<Relay>;
}
