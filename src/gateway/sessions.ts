import { BoundedMap } from '../lib/bounded-map.ts';
import type { Upstream } from './upstream.ts';

/** A client's request to keep one exit, and that exit. */
export interface Session {
  /** The key of the upstream; `null` before the first answer. */
  readonly pinned: string | null;
  readonly locked: boolean;
  /** Response headers that describe the session. */
  headers(): string[];
  /** Sends all further requests through this upstream. */
  pin(upstream: Upstream): void;
  /**
   * Calls back when no other request is about to pin the session for the first time. The caller then is, until it
   * pins or gives up.
   */
  enter(go: () => void): void;
  leave(): void;
}

export interface Sessions {
  /** Returns the session of this name, created if necessary. */
  open(name: string, options: { sessionMs: number; locked: boolean }): Session;
}

const MOST_SESSIONS = 20_000;

interface Entry {
  pinned: string | null;
  exit: string | null;
  /** `moved`: its exit has died since the client was last told. */
  state: 'new' | 'kept' | 'moved';
  expiresAt: number;
  /** Requests that wait until the first of them has found an exit. */
  waiting: (() => void)[];
  busy: boolean;
}

/** Remembers sessions for their time. If there are too many, the least recently used are forgotten. */
export function createSessions(monotonic: () => number): Sessions {
  const entries = new BoundedMap<string, Entry>(MOST_SESSIONS);

  function find(name: string, sessionMs: number): Entry {
    const now = monotonic();
    let entry = entries.get(name);
    if (!entry || entry.expiresAt < now) {
      entry = { pinned: null, exit: null, state: 'new', expiresAt: 0, waiting: [], busy: false };
    }
    entry.expiresAt = now + sessionMs;
    entries.set(name, entry);
    return entry;
  }

  return {
    open(name, { sessionMs, locked }) {
      const entry = find(name, sessionMs);
      return {
        get pinned() {
          return entry.pinned;
        },
        locked,
        headers() {
          const { state, exit } = entry;
          if (entry.pinned !== null) entry.state = 'kept';
          return [`X-Picpool-Session: ${state}`, ...(exit === null ? [] : [`X-Picpool-Exit: ${exit}`])];
        },
        pin({ key, exitIp, ip }) {
          if (entry.pinned === key) return;
          if (entry.pinned !== null) entry.state = 'moved';
          entry.pinned = key;
          entry.exit = exitIp ?? ip;
        },
        enter(go) {
          if (entry.pinned !== null || !entry.busy) {
            entry.busy = true;
            go();
          } else entry.waiting.push(go);
        },
        leave() {
          entry.busy = false;
          // With an exit found, all continue; otherwise the next one looks for an exit.
          const ready = entry.pinned === null ? entry.waiting.splice(0, 1) : entry.waiting.splice(0);
          if (ready.length > 0) entry.busy = true;
          for (const go of ready) go();
        },
      };
    },
  };
}
