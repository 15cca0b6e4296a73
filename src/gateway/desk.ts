import type { Admission } from './admission.ts';
import type { Engine } from './engine.ts';
import type { GatewayFault } from './fault.ts';
import type { Idle } from './idle.ts';
import type { Asked, Result } from './journal.ts';
import type { Meter, Outcome } from './meter.ts';
import type { Target } from './target.ts';
import type { Kind } from './upstream.ts';

/** What serving any client needs. */
export interface Desk {
  engine: Engine;
  meter: Meter;
  /** Notes how a request went. */
  settled(asked: Asked, outcome: Outcome, result?: Result): void;
  /** A monotonic clock in ms. */
  monotonic: () => number;
  /** CONNECT is answered only after an upstream has answered it. */
  strict: boolean;
  /** GET and HEAD go through another exit if the site refuses the first. */
  retry: boolean;
  /** Resolves once an upstream suits, or none is about to be found; `null` if there is nothing to wait for. */
  filled(kind: Kind, admission: Admission): Promise<void> | null;
  /** Returns why a request was not answered. */
  unanswered(kind: Kind, target: Target, tries: number): GatewayFault;
  /** Throws `target_refused` for a target that must not be reached. */
  check: (target: Target) => void;
  /** Connections to proxies that can be reused. */
  idle: Idle;
  /** Open tunnels and responses on their way; idle ones are cut. */
  carriers: Set<Carrier>;
}

/** Why a carrier is ended from outside: nothing has moved, it is too old, or the gateway stops. */
export type Cut = 'idle' | 'lifetime' | 'stop';

/** Carries bytes between a client and an upstream. */
export interface Carrier {
  readonly startedAt: number;
  /** When data last moved. All times are on the monotonic clock. */
  readonly movedAt: number;
  /** How long it may stand still, in ms, if that is less than usual, as after the end of one side. */
  readonly patienceMs: number;
  /** Called about once a second while it stands. */
  look?(now: number): void;
  /** Ends both connections. */
  cut(why: Cut): void;
}
