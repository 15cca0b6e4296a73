import { BoundedMap } from '../lib/bounded-map.ts';
import { OwnedMap } from '../lib/owned-map.ts';
import { siteOf } from '../proxy/targets/site.ts';
import type { Admission } from './admission.ts';
import type { Outcome } from './meter.ts';
import type { Target } from './target.ts';
import { exitOf, type Kind, type Upstream } from './upstream.ts';

/** How a request or a tunnel went. */
export interface Entry {
  /** Ms since 1970. */
  at: number;
  kind: Kind;
  outcome: Outcome;
  /** Until the answer began. */
  ms: number;
  tries: number;
  account: string;
  /** As the client named it. */
  session: string | null;
  site: string;
  /** The address that the site saw, and the ID of the proxy in the pool. */
  exit: string | null;
  proxy: number | null;
}

/** A request of an admitted client. */
export interface Asked {
  kind: Kind;
  target: Target;
  admission: Admission;
  /** On the monotonic clock. */
  startedAt: number;
}

/** How it ended. */
export interface Result {
  tries: number;
  member?: { upstream: Upstream } | undefined;
}

/** Stands for the latest request, of whatever session. */
const ANY = '';
const MOST_SHOWN = 200;
const MOST_REMEMBERED = 20_000;
const RECENT_MS = 5 * 60_000;

/** Remembers the latest requests. */
export class Journal {
  readonly #now: () => number;
  readonly #shown: Entry[] = [];
  readonly #lastOf = new OwnedMap<Entry>(MOST_REMEMBERED);
  readonly #usedAt = new BoundedMap<string, number>(MOST_REMEMBERED);

  /** @param now ms since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  note(
    { kind, target, admission: { account, session } }: Asked,
    { outcome, ms, tries, member }: Pick<Entry, 'outcome' | 'ms'> & Result,
  ): Entry {
    const upstream = member?.upstream ?? null;
    const entry: Entry = {
      at: this.#now(),
      kind,
      outcome,
      ms: Math.round(ms),
      tries,
      account: account.id,
      session: session?.name ?? null,
      site: siteOf(target.host),
      exit: upstream && exitOf(upstream),
      proxy: upstream?.id ?? null,
    };
    this.#shown.push(entry);
    if (this.#shown.length > MOST_SHOWN) this.#shown.shift();
    if (entry.exit !== null) {
      if (outcome === 'served') this.#usedAt.set(entry.exit, entry.at);
      for (const name of [ANY, entry.session ?? ANY]) this.#lastOf.set(account.id, name, entry);
    }
    return entry;
  }

  /** Returns the latest of all accounts, the newest first. */
  latest(): Entry[] {
    return this.#shown.toReversed();
  }

  /** Returns the latest answered one of an account, of the session if one is named. */
  last(account: string, session: string | null): Entry | undefined {
    return this.#lastOf.get(account, session ?? ANY);
  }

  /** Returns the number of exits that were used in the last five minutes. */
  exitsUsed(): number {
    // The clock may have been ahead when one was used.
    return [...this.#usedAt.values()].filter((at) => Math.abs(this.#now() - at) <= RECENT_MS).length;
  }
}
