import { OwnedMap } from '../lib/owned-map.ts';
import { exitHeaders, exitOf, type Upstream } from './upstream.ts';

/** A client's request to keep one exit, and that exit. */
export class Session {
  readonly name: string;
  /** The key of the upstream; `null` before the first answer. */
  pinned: string | null = null;
  /** Whether requests fail rather than move to another exit. */
  locked = false;
  /** How long it lasts after it was last in use. */
  lastsMs = 0;
  /** On the monotonic clock. */
  usedAt = 0;
  readonly #account: string;
  readonly #all: Sessions;
  /** Response headers that tell the exit. */
  #exit: readonly string[] = [];
  /** What it keeps other sessions of its account from: its exit, or those that may become it. */
  readonly #held = new Set<string>();
  /** The key of the upstream that may become its own. */
  #tried: string | null = null;
  /** `moved`: its exit has died since the client was last told. */
  #state: 'new' | 'kept' | 'moved' = 'new';
  /** When its exit has first cut an answer since the last whole one; infinite if it has not. */
  #cutAt = Number.POSITIVE_INFINITY;

  constructor(account: string, name: string, all: Sessions) {
    this.name = name;
    this.#account = account;
    this.#all = all;
  }

  /** Whether its time is not over. */
  get isStanding(): boolean {
    return this.usedAt + this.lastsMs >= this.#all.monotonic();
  }

  /** The key of the only upstream that its requests may use; `null` if it may take any. */
  get only(): string | null {
    return this.locked ? this.pinned : null;
  }

  /** Returns response headers that describe the session. */
  headers(): string[] {
    const state = this.#state;
    if (this.pinned !== null) this.#state = 'kept';
    return [`X-Picpool-Session: ${state}`, ...this.#exit];
  }

  /**
   * Returns the key of the upstream to try: its own, otherwise, unless it is locked to that, the one that another request
   * tries to find one, or `null` if both were tried.
   */
  next(tried: ReadonlySet<string>): string | null {
    const other = this.only ? null : this.#tried;
    return [this.pinned, other].find((key) => key !== null && !tried.has(key)) ?? null;
  }

  /** Has all requests that look for an exit try this one, which other sessions of the account leave to it unless it has another. */
  hold(upstream: Upstream): void {
    this.#tried = upstream.key;
    if (this.pinned !== null && this.pinned !== upstream.key) return;
    const exit = exitOf(upstream);
    this.#held.add(exit);
    this.#all.holders.set(this.#account, exit, this);
  }

  /** Lets no further request try an upstream that has failed one. */
  drop(upstream: Upstream): void {
    if (this.#tried === upstream.key) this.#tried = null;
    if (this.pinned !== upstream.key) this.#held.delete(exitOf(upstream));
  }

  /**
   * Sends all further requests through this upstream, whose address may have changed since it was pinned. Returns false
   * if another one was pinned since `before` was.
   */
  pin(upstream: Upstream, before: string | null): boolean {
    if (this.pinned !== null && this.pinned !== upstream.key) {
      if (this.pinned !== before) return false;
      this.#state = 'moved';
    }
    this.pinned = upstream.key;
    this.#exit = exitHeaders(upstream);
    this.#held.clear();
    this.hold(upstream);
    return true;
  }

  /**
   * Notes how an answer through an upstream ended that began then. Its exit has failed if two did not come to
   * their end, one after the other, because all that it cuts at once may be one case of bad luck.
   */
  ended({ key }: Upstream, isCut: boolean, began: number): void {
    if (key !== this.pinned) return;
    if (!isCut) this.#cutAt = Number.POSITIVE_INFINITY;
    else if (began >= this.#cutAt) this.move();
    else this.#cutAt = Math.min(this.#cutAt, this.#all.monotonic());
  }

  /** Makes it take another exit. Returns false if it is locked to the one it has. */
  move(): boolean {
    if (this.locked) return false;
    this.pinned = null;
    this.#cutAt = Number.POSITIVE_INFINITY;
    this.#tried = null;
    this.#held.clear();
    this.#exit = [];
    this.#state = 'moved';
    return true;
  }

  /** Reports whether another session of the account holds the exit. */
  isTaken(exit: string): boolean {
    const holder = this.#all.holders.get(this.#account, exit);
    return holder !== undefined && holder !== this && holder.#held.has(exit) && holder.isStanding;
  }
}

const MOST_SESSIONS = 20_000;

/** Remembers sessions for their time. If there are too many, the account with most loses the least recently used. */
export class Sessions {
  readonly #sessions = new OwnedMap<Session>(MOST_SESSIONS);
  /** The session of an account that has taken an exit last, by exit. */
  readonly holders = new OwnedMap<Session>(MOST_SESSIONS);
  readonly monotonic: () => number;

  constructor(monotonic: () => number) {
    this.monotonic = monotonic;
  }

  /** Returns a session that has not expired. */
  find(account: string, name: string): Session | undefined {
    const known = this.#sessions.get(account, name);
    return known?.isStanding ? known : undefined;
  }

  /** Returns the session of this name, created if necessary. */
  open(account: string, name: string, options: { sessionMs: number; locked: boolean }): Session {
    const session = this.find(account, name) ?? new Session(account, name, this);
    session.locked = options.locked;
    session.lastsMs = options.sessionMs;
    session.usedAt = this.monotonic();
    this.#sessions.set(account, name, session);
    return session;
  }
}
