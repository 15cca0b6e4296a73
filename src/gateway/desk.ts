import { setTimeout as pause } from 'node:timers/promises';
import type { Tcp } from '../runtime/tcp.ts';
import type { Admission, Admit } from './admission.ts';
import { Engine, type EngineOptions } from './engine.ts';
import { GatewayFault } from './fault.ts';
import { Idle } from './idle.ts';
import { type Asked, type Entry, Journal, type Result } from './journal.ts';
import type { Meter, Outcome } from './meter.ts';
import { formatTarget, type TargetRules } from './target.ts';
import type { Kind } from './upstream.ts';

export interface GatewayOptions extends Omit<EngineOptions, 'tcp'> {
  tcp: Tcp;
  hostname: string;
  port: number;
  /** More ports, with the options of their clients. Default: none. */
  morePorts?: readonly { port: number; options: string }[] | undefined;
  rules: TargetRules;
  admit: Admit;
  meter: Meter;
  /** CONNECT is answered only after an upstream has answered it. */
  strict: boolean;
  /** GET and HEAD that a site refuses go through further exits. */
  retry: boolean;
  /** Reports whether the pool is being filled for the first time, so that clients wait. Default: never. */
  filling?: () => boolean;
  /** Called with each request that has come to its answer or its end. */
  onSettled?: (entry: Entry) => void;
  /** A tunnel or a response without traffic for this long is closed. */
  idleMs: number;
  /** Maximum lifetime of a client's connection, whatever it does. */
  lifetimeMs: number;
  connections: number;
}

/** Carries bytes between a client and an upstream. */
export interface Carrier {
  /** When data last moved. All times are on the monotonic clock. */
  readonly movedAt: number;
  /** How long it may stand still, in ms. Default: as long as any. */
  readonly patienceMs?: number;
  /** Called about once a second while it stands. */
  look?(now: number): void;
  /** Ends both connections. `idle`: because nothing has moved. */
  cut(idle?: boolean): void;
}

/** How often it is looked whether clients wait no longer for an upstream, and a server that stops for them. */
export const WAKE_MS = 100;

/** What serving any client needs. */
export class Desk {
  readonly options: GatewayOptions;
  readonly engine: Engine;
  readonly meter: Meter;
  readonly journal = new Journal(Date.now);
  /** Connections to proxies that can be reused. */
  readonly idle: Idle;
  /** Open tunnels and responses on their way; idle ones are cut. */
  readonly carriers = new Set<Carrier>();
  /** True once clients get no further request on their connections. */
  isEnding = false;

  constructor(options: GatewayOptions) {
    this.options = options;
    this.meter = options.meter;
    this.engine = new Engine(options);
    this.idle = new Idle(options.monotonic);
  }

  /** Notes how a request went. */
  settled(asked: Asked, outcome: Outcome, result: Result = { tries: 0 }): void {
    const ms = this.options.monotonic() - asked.startedAt;
    this.meter.settled(asked.kind, outcome, ms);
    const entry = this.journal.note(asked, { outcome, ms, ...result });
    this.options.onSettled?.(entry);
  }

  /**
   * Resolves once an upstream suits, or none is about to be found, or the client has left; `null` if there is nothing to
   * wait for.
   */
  filled(kind: Kind, admission: Admission, hasLeft: () => boolean): Promise<void> | null {
    const { monotonic, timeoutMs, filling } = this.options;
    const until = monotonic() + timeoutMs;
    let seen = -1;
    const has = () => {
      // Each look reads all upstreams, and many may wait.
      if (seen === this.engine.changes) return false;
      seen = this.engine.changes;
      return this.engine.laneOf(kind, admission.account).has(admission);
    };
    const isWaiting = () => filling?.() === true && !hasLeft() && monotonic() < until && !has();
    const wait = async () => {
      while (isWaiting()) await pause(WAKE_MS);
    };
    return isWaiting() ? wait() : null;
  }

  /** Notes a request that was not answered, and returns why. `lost`: the exit that its session is locked to. */
  unanswered(asked: Asked, tries: number, lost = false): GatewayFault {
    this.settled(asked, 'no_answer', { tries });
    if (lost)
      return new GatewayFault(
        'session_lost',
        'The exit of this session no longer works or fits, and the session is locked to it.',
      );
    if (tries > 0)
      return new GatewayFault(
        'no_answer',
        `None of ${tries} proxies returned a response from ${formatTarget(asked.target)}.`,
      );
    const count = [...this.engine.upstreams(asked.kind)].length;
    const more = this.options.filling?.() ? ' The pool is still being filled; try again in a minute.' : '';
    const sentence =
      count > 0
        ? `None of the ${count} proxies fits the options in the user name.`
        : 'No proxy is known to work.';
    return new GatewayFault('no_upstream', sentence + more);
  }
}
