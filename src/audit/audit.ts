import { AppError, inEnglish } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { LateError, within } from '../lib/deadline.ts';
import type { Locks } from '../lib/locks.ts';
import type { Facts, Log } from '../lib/logger.ts';
import { every, type Repetition } from '../lib/schedule.ts';
import type { StateStore } from '../lib/state.ts';
import { isStorageFull } from '../lib/storage-full.ts';
import { SKEW_MS } from '../lib/stored-time.ts';
import { type AuditEntry, type AuditStore, CARRIED_OUT, DONE, OPEN, type StagedEntry } from './store.ts';

/** What somebody does to another's picture, or as administrator. */
export interface Act {
  /** Such as `image.delete`. */
  what: string;
  /** What it is about, such as `image <id>`. */
  subject: string;
  /** The name of a token, `administrator`, `uploader`, or `album <id>` for the holder of its token. */
  who: string;
  /** The address of the client. */
  peer?: string | undefined;
  why?: string | undefined;
  /** Whatever else carrying it out needs. JSON. */
  details?: Readonly<Record<string, unknown>> | undefined;
}

export type Logged = Act & Pick<AuditEntry, 'id' | 'at'>;

type Order = 'yields' | 'final';

interface AuditOptions {
  audit: AuditStore;
  state: Pick<StateStore, 'get' | 'setFenced'>;
  locks: Locks;
  /** Days in which the server ran, after which entries are dropped. */
  keepDays: number;
  clock: Pick<Clock, 'now' | 'sleep'>;
  newId: () => string;
  /** Returns what to keep of a client's address. */
  hide: (peer: string) => string | undefined;
  /** Keeps a line outside the store, perhaps again. Default: nowhere. */
  tell?: ((line: string) => Promise<void>) | undefined;
  log: Log;
}

const TURN_MS = 5000;
/** Its process has failed or died by then. */
const ABANDONED_MS = 60_000;
/** How long one that others have begun holds up the next. */
const MOST_SETTLED_MS = 30_000;
/** How many that cannot be told are tried in one turn. */
const MOST_UNTOLD = 3;
const DAY_MS = 86_400_000;
const DAY_STATE = 'audit-day';
const LEASE_MS = 10_000;
/** How long an act waits until it is told outside; the telling goes on. */
const MOST_TOLD_MS = 1000;
const MOST_OPEN = 500;
/** How soon a copy notes what it has carried out. */
const NOTED_MS = 100;
const MOST_ABOUT = 50;
/** A client can make some hundred acts at once. */
const MOST_READ = 1000;

/** The store may have done it all the same, or will be able to. */
const UNCLEAR = new Set(['unavailable', 'storage_full', 'internal', 'busy', 'rate_limited']);
const isUnclear = (error: unknown) => !(error instanceof AppError) || UNCLEAR.has(error.code);

/** How acts of each kind are carried out, and in which order to others on the same subject. */
type Carriers = Map<string, { carryOut: (act: Logged) => Promise<void>; order: Order | undefined }>;

/** Writes entries, and moves them through their stages. */
function createSettling(options: AuditOptions, carriers: Carriers, days: ReturnType<typeof createDays>) {
  const { audit: store, clock, newId, hide, tell, log } = options;
  /** What this process is at, by the ID of the entry. */
  const running = new Map<string, Promise<unknown>>();
  /** Whether telling took too long the last time. */
  let isSlow = false;

  const lineOf = (act: Logged) => JSON.stringify(factsOf(act, hide));
  const onError = (cause: unknown) => log('warn', 'acts are not finished', { cause });

  async function append(act: Act, isCarriedOut = false, id = newId()): Promise<StagedEntry> {
    const { subject, peer, ...facts } = act;
    const hidden = peer === undefined ? undefined : hide(peer);
    const text = JSON.stringify({ ...facts, ...(hidden !== undefined && { peer: hidden }) });
    const entry = { id, at: clock.now(), day: await days.today(), subject, text };
    const stage = carriers.has(act.what) && !isCarriedOut ? OPEN : CARRIED_OUT;
    await store.append(entry, stage);
    return { ...entry, stage };
  }

  async function settle(entry: StagedEntry): Promise<void> {
    if (entry.stage === OPEN && tell) await store.advance(entry.id, CARRIED_OUT);
    await tell?.(lineOf(readEntry(entry)));
    await store.advance(entry.id, DONE);
  }

  /** First of all it must not be carried out later, even if this cannot be told outside. */
  async function refuse(entry: StagedEntry, error: AppError): Promise<void> {
    const { id, subject } = entry;
    const said = await append({
      what: 'refused',
      subject,
      who: 'server',
      why: error.code,
      details: { of: id },
    });
    await store.advance(id, CARRIED_OUT);
    await awhile(settle(said).then(() => settle({ ...entry, stage: CARRIED_OUT })));
  }

  function track<T>(id: string, work: Promise<T>): Promise<T> {
    const done = work.finally(() => running.delete(id));
    running.set(id, done);
    return done;
  }

  async function work<T>(entry: StagedEntry, doIt: () => Promise<T>): Promise<T> {
    let done: T;
    try {
      done = await doIt();
    } catch (error) {
      if (!isUnclear(error)) await refuse(entry, error as AppError).catch(onError);
      throw error;
    }
    await awhile(settle(entry));
    return done;
  }

  /** What fails now, or takes too long, is left to the next turn. */
  async function awhile(settling: Promise<void>): Promise<void> {
    const settled = settling.then(() => {
      isSlow = false;
    });
    await within(isSlow ? 0 : MOST_TOLD_MS, settled).catch((error) => {
      isSlow ||= error instanceof LateError;
      onError(error);
    });
  }

  /** A full store must not keep anything from being deleted, and that makes room for the entry. */
  async function inFullStore(act: Act): Promise<void> {
    await carriers.get(act.what)?.carryOut({ ...act, id: newId(), at: clock.now() });
    await awhile(append(act, true).then(settle));
  }

  /**
   * Carries out what another has begun, as far as that has not been done. Returns false if it was refused, or had been
   * done already.
   */
  async function settleOthers(entry: StagedEntry): Promise<boolean> {
    const act = readEntry(entry);
    let isDone = true;
    try {
      if (entry.stage === OPEN) await carriers.get(act.what)?.carryOut(act);
    } catch (error) {
      if (isUnclear(error)) throw error;
      if ((error as AppError).code !== 'not_found') {
        await refuse(entry, error as AppError);
        return false;
      }
      isDone = false;
    }
    await settle(entry);
    return isDone;
  }

  return { append, refuse, track, work, inFullStore, settleOthers, running, lineOf, onError };
}

export function createAudit(options: AuditOptions) {
  const { audit: store, clock, newId } = options;
  const carriers: Carriers = new Map();
  const days = createDays(options);
  const { append, refuse, track, work, inFullStore, settleOthers, running, lineOf, onError } = createSettling(
    options,
    carriers,
    days,
  );
  /** Since when each entry has been seen open, by the clock that nobody sets. */
  let openSince = new Map<string, number>();
  /** What could not be finished in the last turn: it must not hold up others. */
  let failed = new Set<string>();
  let turns: Repetition | null = null;

  async function finish(isAbandoned: (id: string) => boolean = () => true): Promise<void> {
    const open = await store.unfinished(MOST_OPEN);
    const failures = new Map<string, unknown>();
    let untold = 0;
    const inTurn = open.filter(({ id }) => isAbandoned(id) && !running.has(id));
    for (const entry of inTurn.sort((one, other) => +failed.has(one.id) - +failed.has(other.id))) {
      if (untold >= MOST_UNTOLD && entry.stage !== OPEN) continue;
      await within(MOST_SETTLED_MS, track(entry.id, settleOthers(entry))).catch((error) => {
        failures.set(entry.id, error);
        if (entry.stage !== OPEN) untold++;
      });
    }
    failed = new Set(failures.keys());
    openSince = new Map(open.map(({ id }) => [id, openSince.get(id) ?? performance.now()]));
    await days.count();
    for (const failure of failures.values()) throw failure;
  }

  async function begin(act: Act, id: string): Promise<void> {
    const entry = await append(act, false, id).catch((error) => {
      if (isStorageFull(error)) return null;
      throw error;
    });
    return entry === null ? inFullStore(act) : work(entry, () => carryOutOnce(entry));
  }

  /** Another copy that acts on the subject finishes this act first, after which there is nothing left to act on. */
  async function carryOutOnce(entry: StagedEntry): Promise<void> {
    const act = readEntry(entry);
    try {
      await carriers.get(act.what)?.carryOut(act);
    } catch (error) {
      if (isUnclear(error)) throw error;
      await clock.sleep(NOTED_MS);
      const acts = await store.list({ subject: act.subject, limit: MOST_ABOUT });
      const isOpen = acts.every(({ id, stage }) => id !== act.id || stage === OPEN);
      if (isOpen || acts.some((other) => readEntry(other).details?.of === act.id)) throw error;
    }
  }

  return {
    /**
     * Says how acts of a kind are carried out. It may be called again for the same act, also by other copies. `yields`:
     * an interrupted one is not finished if somebody then acts otherwise on the same subject. `final`: nothing that is
     * finished after it undoes it, so that it need not wait in a full store, which cannot note what was finished.
     */
    carry: (what: string, carryOut: (act: Logged) => Promise<void>, order?: Order) =>
      void carriers.set(what, { carryOut, order }),
    /**
     * Logs an act and carries it out; in a full store, carries it out and logs it then. Rejects as its carrying out
     * does: after `unavailable` it is finished later, after any other error the log says that it was refused.
     */
    async act(act: Act): Promise<void> {
      // In the order in which they were asked for.
      const before = await store.list({ subject: act.subject, limit: MOST_ABOUT });
      for (const entry of before.reverse().filter(({ stage }) => stage === OPEN)) {
        const { what } = readEntry(entry);
        const other = running.get(entry.id);
        if (other) {
          await other.catch(() => {});
          continue;
        }
        const yields = what !== act.what && carriers.get(what)?.order === 'yields';
        const ending = yields ? refuse(entry, superseded()) : track(entry.id, settleOthers(entry));
        const isDone = await ending.catch((error) => {
          if (carriers.get(act.what)?.order !== 'final' || !isStorageFull(error)) throw error;
        });
        // This is the same act, repeated because its answer was lost.
        if (isDone && what === act.what) return;
      }
      const id = newId();
      // Before its entry can be read: others wait for what this process is at.
      await track(id, begin(act, id));
    },
    /** Logs an act that nothing can repeat, and does it. */
    async once<T>(act: Act, doIt: () => Promise<T>): Promise<T> {
      const entry = await append(act);
      return track(entry.id, work(entry, doIt));
    },
    /** Returns acts, newest first; with `after`, those after that ID. */
    list: async (query: { limit: number; after?: string | undefined }) =>
      (await store.list(query)).map(readEntry),
    /** Returns the newest acts on a subject. */
    about: async (subject: string) => (await store.list({ subject, limit: MOST_READ })).map(readEntry),
    /** Returns an act as a line of JSON, with what `LOG_ADDRESSES` leaves of addresses. */
    lineOf,
    /** Finishes what others have begun, and drops what is too old. */
    finish,
    /** Rejects if acts have waited for two minutes to be finished, or told outside. */
    async demandFinished(): Promise<void> {
      if (performance.now() - Math.min(...openSince.values()) > 2 * ABANDONED_MS)
        throw new Error('acts are not finished');
    },
    /** Does so from time to time, for what has been open for a minute. */
    start(): void {
      const isAbandoned = (id: string) => performance.now() - (openSince.get(id) ?? Infinity) >= ABANDONED_MS;
      turns = every(TURN_MS, () => finish(isAbandoned), onError);
    },
    stop: async () => turns?.stop(),
  };
}

/**
 * The log of acts. It is written before an act is carried out, so that none is missing, and what crashes is finished.
 */
export type Audit = ReturnType<typeof createAudit>;

/** The answer to somebody whose act contradicts that of another, who was faster. */
export const superseded = () => new AppError('conflict', inEnglish('Somebody has decided otherwise.'));

/** Counts the days: a clock that jumps ahead, or a long pause, makes no entry much older. */
function createDays({ audit, state, locks, keepDays, clock, log }: AuditOptions) {
  let known: number | null = null;
  const read = async () =>
    JSON.parse((await state.get(DAY_STATE)) ?? 'null') as { day: number; at: number } | null;

  return {
    /** Returns the current day as this process knows it. */
    today: async (): Promise<number> => (known ??= (await read())?.day ?? 0),
    /** Counts on, and drops entries of days that are over. */
    async count(): Promise<void> {
      const last = await read();
      const passed = last === null ? 0 : clock.now() - last.at;
      known = last?.day ?? 0;
      if (last !== null && passed > -SKEW_MS && passed < DAY_MS) return;
      const lease = await locks.acquire(DAY_STATE, LEASE_MS);
      if (lease === null) return;
      try {
        known += Math.min(2, Math.max(0, Math.floor(passed / DAY_MS)));
        await state.setFenced(DAY_STATE, JSON.stringify({ day: known, at: clock.now() }), lease.token);
        const dropped = await audit.drop(known - keepDays);
        if (dropped > 0) log('info', 'audit log shortened', { entries: dropped });
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
  const { of, statement, verdict } = details ?? {};
  return { id, time: new Date(at).toISOString(), what, of, subject: shown, ...facts, statement, verdict };
}
