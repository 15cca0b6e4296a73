import { OwnedMap } from '../lib/owned-map.ts';
import { exitHeaders, exitOf, type Upstream } from './upstream.ts';

/** A client's request to keep one exit, and that exit. */
export interface Session {
  /** As the client named it. */
  readonly name: string;
  /** The key of the upstream; `null` before the first answer. */
  readonly pinned: string | null;
  readonly locked: boolean;
  /** Response headers that describe the session. */
  headers(): string[];
  /** Sends all further requests through this upstream, whose address may have changed since it was pinned. */
  pin(upstream: Upstream): void;
  /** Keeps other sessions of the account from an upstream's exit, while this one finds out whether it works. */
  hold(upstream: Upstream): void;
  /** Reports whether another session of the account holds the exit. */
  isTaken(exit: string): boolean;
  /**
   * Calls back with the upstream of the session, unless that is `lost`, which has failed the caller, or with `null` if
   * the caller is to find one. Others that need one wait until it leaves.
   */
  enter(lost: string | null, go: (pinned: string | null) => void): void;
  /** Ends the search, whether it has pinned an upstream or not. */
  leave(): void;
}

export interface Sessions {
  /** Returns the session of this name, created if necessary. */
  open(account: string, name: string, options: { sessionMs: number; locked: boolean }): Session;
  /** Returns the key of the upstream of a session, or `null`. */
  pinnedOf(account: string, name: string): string | null;
  /** Makes a session take another exit. Returns false if it is locked to the one it has. */
  move(account: string, name: string): boolean;
}

const MOST_SESSIONS = 20_000;

interface Entry {
  locked: boolean;
  pinned: string | null;
  /** Response headers that tell the exit. */
  exit: readonly string[];
  /** The exit that it keeps other sessions of its account from. */
  held: string | null;
  /** `moved`: its exit has died since the client was last told. */
  state: 'new' | 'kept' | 'moved';
  expiresAt: number;
  /** Requests that wait until one of them has found an exit. */
  waiting: { lost: string | null; go: (pinned: string | null) => void }[];
  searching: boolean;
}

/** Remembers sessions for their time. If there are too many, the account with most loses the least recently used. */
export function createSessions(monotonic: () => number): Sessions {
  const entries = new OwnedMap<Entry>(MOST_SESSIONS);
  /** The session of an account that has taken an exit last, by exit. */
  const holders = new OwnedMap<Entry>(MOST_SESSIONS);

  function find(account: string, name: string, sessionMs: number): Entry {
    const now = monotonic();
    let entry = entries.get(account, name);
    if (!entry || entry.expiresAt < now) {
      entry = {
        locked: false,
        pinned: null,
        exit: [],
        held: null,
        state: 'new',
        expiresAt: 0,
        waiting: [],
        searching: false,
      };
    }
    entry.expiresAt = now + sessionMs;
    entries.set(account, name, entry);
    return entry;
  }

  const standing = (account: string, name: string) => {
    const entry = entries.get(account, name);
    return entry && entry.expiresAt >= monotonic() ? entry : undefined;
  };

  return {
    pinnedOf: (account, name) => standing(account, name)?.pinned ?? null,

    move(account, name) {
      const entry = standing(account, name);
      if (!entry || entry.locked) return false;
      Object.assign(entry, { pinned: null, exit: [], held: null, state: 'moved' });
      return true;
    },

    open(account, name, { sessionMs, locked }) {
      const entry = find(account, name, sessionMs);
      entry.locked = locked;

      function enter(lost: string | null, go: (pinned: string | null) => void): void {
        if (entry.pinned !== null && entry.pinned !== lost) go(entry.pinned);
        else if (entry.searching) entry.waiting.push({ lost, go });
        else {
          entry.searching = true;
          go(null);
        }
      }

      function hold(upstream: Upstream): void {
        entry.held = exitOf(upstream);
        holders.set(account, entry.held, entry);
      }

      return {
        name,
        get pinned() {
          return entry.pinned;
        },
        locked,
        headers() {
          const { state, exit } = entry;
          if (entry.pinned !== null) entry.state = 'kept';
          return [`X-Picpool-Session: ${state}`, ...exit];
        },
        pin(upstream) {
          if (entry.pinned !== null && entry.pinned !== upstream.key) entry.state = 'moved';
          entry.pinned = upstream.key;
          entry.exit = exitHeaders(upstream);
          hold(upstream);
        },
        hold,
        isTaken(exit) {
          const holder = holders.get(account, exit);
          const holds = holder !== undefined && holder !== entry && holder.held === exit;
          return holds && holder.expiresAt >= monotonic();
        },
        enter,
        leave() {
          entry.searching = false;
          // With an exit found, all continue; otherwise the next one looks for an exit.
          for (const { lost, go } of entry.waiting.splice(0)) enter(lost, go);
        },
      };
    },
  };
}
