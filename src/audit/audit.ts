import { AppError } from '../errors.ts';
import { within } from '../lib/deadline.ts';
import type { Locks } from '../lib/locks.ts';
import type { Facts, Log } from '../lib/logger.ts';
import { every, type Repetition } from '../lib/schedule.ts';
import type { StateStore } from '../lib/state.ts';
import { SKEW_MS } from '../lib/stored-time.ts';
import { type AuditEntry, type AuditStore, CARRIED_OUT, DONE, OPEN, type StagedEntry } from './store.ts';

/** What somebody does to another's picture, or as administrator. */
export interface Act {
  /** Such as `image.delete`. */
  what: string;
  /** What it is about, such as `image <id>`. */
  subject: string;
  /** The name of a token, `administrator`, or `uploader`. */
  who: string;
  /** The address of the client. */
  peer?: string | undefined;
  why?: string | undefined;
  /** Whatever else carrying it out needs. JSON. */
  details?: Readonly<Record<string, unknown>> | undefined;
}

export type Logged = Act & Pick<AuditEntry, 'id' | 'at'>;

/** The log of acts. It is written before an act is carried out, so that none is missing, and what crashes is finished. */
export interface Audit {
  /** Says how acts of a kind are carried out. It may be called again for the same act, also by other copies. */
  carry(what: string, carryOut: (act: Logged) => Promise<void>): void;
  /**
   * Logs an act and carries it out. Rejects as its carrying out does: after `unavailable` it is finished later, after any
   * other error the log says that it was refused.
   */
  act(act: Act): Promise<void>;
  /** Logs an act that nothing can repeat, and does it. */
  once<T>(act: Act, work: () => Promise<T>): Promise<T>;
  /** Returns acts, newest first; with `after`, those after that ID. */
  list(query: { limit: number; after?: string | undefined }): Promise<Logged[]>;
  /** Returns the newest acts on a subject. */
  about(subject: string): Promise<Logged[]>;
  /** Returns an act as a line of JSON, with what `LOG_ADDRESSES` leaves of addresses. */
  lineOf(act: Logged): string;
  /** Finishes what others have begun, and drops what is too old. */
  finish(): Promise<void>;
  /** Does so from time to time, for what has been open for a minute. */
  start(): void;
  stop(): Promise<void>;
}

interface AuditOptions {
  audit: AuditStore;
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  /** Days in which the server ran, after which entries are dropped. */
  keepDays: number;
  /** Ms since 1970. */
  now: () => number;
  newId: () => string;
  /** Returns what to keep of a client's address. */
  hide: (peer: string) => string | undefined;
  /** Keeps a line outside the store, perhaps again. Default: nowhere. */
  tell?: ((line: string) => Promise<void>) | undefined;
  log: Log;
}

const TURN_MS = 5000;
/** Its process has failed or died by then. */
const ABANDONED_TURNS = 12;
const DAY_MS = 86_400_000;
const DAY_STATE = 'audit-day';
const LEASE_MS = 10_000;
/** How long an act waits until it is told outside; the telling goes on. */
const MOST_TOLD_MS = 1000;
const MOST_OPEN = 500;
const MOST_ABOUT = 50;

/** The store may have done it all the same, or will be able to. */
const UNCLEAR = new Set(['unavailable', 'storage_full', 'internal', 'busy', 'rate_limited']);
const isUnclear = (error: unknown) => !(error instanceof AppError) || UNCLEAR.has(error.code);

export function createAudit(options: AuditOptions): Audit {
  const { audit: store, now, newId, hide, tell, log } = options;
  const carriers = new Map<string, (act: Logged) => Promise<void>>();
  /** In how many turns each entry was open. */
  let turnsOpen = new Map<string, number>();
  /** What this process is at, by the ID of the entry. */
  const running = new Map<string, Promise<unknown>>();
  let today: number | null = null;
  let turns: Repetition | null = null;

  const lineOf = (act: Logged) => JSON.stringify(factsOf(act, hide));
  const days = createDays(options);

  async function append(act: Act): Promise<StagedEntry> {
    const { subject, peer, ...facts } = act;
    today ??= await days.read();
    const hidden = peer === undefined ? undefined : hide(peer);
    const text = JSON.stringify({ ...facts, ...(hidden !== undefined && { peer: hidden }) });
    const entry = { id: newId(), at: now(), day: today, subject, text };
    const stage = carriers.has(act.what) ? OPEN : CARRIED_OUT;
    await store.append(entry, stage);
    return { ...entry, stage };
  }

  /** Carries it out as far as that has not been done. */
  async function settle(entry: StagedEntry): Promise<void> {
    const act = readEntry(entry);
    if (entry.stage === OPEN) await carriers.get(act.what)?.(act);
    if (entry.stage === OPEN && tell) await store.advance(entry.id, CARRIED_OUT);
    await tell?.(lineOf(act));
    await store.advance(entry.id, DONE);
  }

  async function refuse(entry: StagedEntry, error: AppError): Promise<void> {
    const details = { id: entry.id };
    await settle(
      await append({ what: 'refused', subject: entry.subject, who: 'server', why: error.code, details }),
    );
    await store.advance(entry.id, DONE);
  }

  function work<T>(entry: StagedEntry, doIt: () => Promise<T>): Promise<T> {
    const done = workOn(entry, doIt).finally(() => running.delete(entry.id));
    running.set(entry.id, done);
    return done;
  }

  async function workOn<T>(entry: StagedEntry, doIt: () => Promise<T>): Promise<T> {
    let done: T;
    try {
      done = await doIt();
    } catch (error) {
      if (!isUnclear(error)) await refuse(entry, error as AppError).catch(onError);
      throw error;
    }
    // What fails now is left to the next turn.
    const telling = tell && entry.stage === OPEN ? store.advance(entry.id, CARRIED_OUT) : Promise.resolve();
    const settling = telling.then(() => settle({ ...entry, stage: CARRIED_OUT }));
    await within(MOST_TOLD_MS, settling).catch(onError);
    return done;
  }

  /** As `settle`, for what another has begun. Returns false if it was refused, or had been done already. */
  async function settleOthers(entry: StagedEntry): Promise<boolean> {
    try {
      await settle(entry);
      return true;
    } catch (error) {
      if (isUnclear(error)) throw error;
      if ((error as AppError).code === 'not_found') await settle({ ...entry, stage: CARRIED_OUT });
      else await refuse(entry, error as AppError);
      return false;
    }
  }

  async function finish(isAbandoned: (id: string) => boolean = () => true): Promise<void> {
    const open = await store.unfinished(MOST_OPEN);
    const failures: unknown[] = [];
    for (const entry of open.filter(({ id }) => isAbandoned(id) && !running.has(id))) {
      await settleOthers(entry).catch((error) => failures.push(error));
      // What cannot be told now is not tried for each of them.
      if (failures.length > 0 && entry.stage !== OPEN) break;
    }
    turnsOpen = new Map(open.map(({ id }) => [id, (turnsOpen.get(id) ?? 0) + 1]));
    today = await days.count();
    if (failures.length > 0) throw failures[0];
  }

  const onError = (cause: unknown) => log('warn', 'acts are not finished', { cause });

  return {
    carry: (what, carryOut) => void carriers.set(what, carryOut),
    async act(act) {
      // In the order in which they were asked for.
      const before = await store.list({ subject: act.subject, limit: MOST_ABOUT });
      for (const entry of before.reverse().filter(({ stage }) => stage === OPEN)) {
        const other = running.get(entry.id);
        if (other) await other.catch(() => {});
        // This is the same act, repeated because its answer was lost.
        else if ((await settleOthers(entry)) && readEntry(entry).what === act.what) return;
      }
      const entry = await append(act);
      await work(entry, async () => carriers.get(act.what)?.(readEntry(entry)));
    },
    once: async (act, doIt) => work(await append(act), doIt),
    list: async (query) => (await store.list(query)).map(readEntry),
    about: async (subject) => (await store.list({ subject, limit: MOST_ABOUT })).map(readEntry),
    lineOf,
    finish,
    start() {
      turns = every(TURN_MS, () => finish((id) => (turnsOpen.get(id) ?? 0) >= ABANDONED_TURNS), onError);
    },
    stop: async () => turns?.stop(),
  };
}

/** Counts the days: a clock that jumps ahead, or a long pause, makes no entry much older. */
function createDays({ audit, state, locks, keepDays, now, log }: AuditOptions) {
  const known = async () =>
    JSON.parse((await state.get(DAY_STATE)) ?? 'null') as { day: number; at: number } | null;
  return {
    read: async () => (await known())?.day ?? 0,
    /** Drops entries of the day that is over. Returns the current day. */
    async count(): Promise<number> {
      const last = await known();
      const passed = last === null ? 0 : now() - last.at;
      const day = last?.day ?? 0;
      if (last !== null && passed > -SKEW_MS && passed < DAY_MS) return day;
      const lease = await locks.acquire(DAY_STATE, LEASE_MS);
      if (lease === null) return day;
      try {
        const today = day + Math.min(2, Math.max(0, Math.floor(passed / DAY_MS)));
        await state.setFenced(DAY_STATE, JSON.stringify({ day: today, at: now() }), lease.token);
        const dropped = await audit.drop(today - keepDays);
        if (dropped > 0) log('info', 'audit log shortened', { entries: dropped });
        return today;
      } finally {
        await lease.release();
      }
    },
  };
}

function readEntry({ id, at, subject, text }: AuditEntry): Logged {
  return { id, at, subject, ...(JSON.parse(text) as Omit<Act, 'subject'>) };
}

/** The network of a block is the address of a client. */
function factsOf({ at, id, what, subject, details, ...facts }: Logged, hide: AuditOptions['hide']): Facts {
  const [kind = '', value = ''] = subject.split(' ');
  const shown = kind === 'network' ? `${kind} ${hide(value) ?? '-'}` : subject;
  const { statement, verdict } = details ?? {};
  return {
    id,
    time: new Date(at).toISOString(),
    what,
    subject: shown,
    ...facts,
    statement,
    verdict,
  };
}
