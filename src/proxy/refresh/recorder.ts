import type { Clock } from '../../lib/clock.ts';
import type { Fence, Lease } from '../../lib/locks.ts';
import { breathe } from '../../lib/schedule.ts';
import { isStorageFull } from '../../lib/storage-full.ts';
import { type Checked, observe } from '../pool/history.ts';
import { type CheckResult, type Endpoint, formatUrl, type ProxyRecord } from '../proxy.ts';
import { nextCheckAt } from '../recheck/schedule.ts';
import type { ProxyDraft, ProxyStore } from '../store.ts';

interface Outcome extends Omit<Checked, 'record'> {
  result: CheckResult;
  /** Store nothing if the pool does not know the proxy and it does not work. */
  forgettable?: boolean;
  /** The right of the background job that checked. Checks that a user asked for have none. */
  right?: WriteRight;
}

/** The right of a job to write. Once its lease is lost, its outcomes are dropped. */
export interface WriteRight extends Fence {
  lost: AbortSignal;
}

/** Returns the right that comes with a lease. `name`: of the lock. */
export function rightOf(name: string, { token, lost }: Lease): WriteRight {
  return { name, token, lost };
}

interface RecorderOptions {
  store: Pick<ProxyStore, 'lookup' | 'save'>;
  clock: Clock;
  random: () => number;
  countryOf: (address: string) => string;
  /** The current price of a check; see `schedule.ts`. */
  checkCostMs: () => number;
}

/** A batch of this size occupies a store in this process for some 5 ms, during which nothing else runs. */
const BATCH = 200;
const FLUSH_AFTER_MS = 1000;

interface Waiting {
  endpoint: Endpoint;
  /** Returns the next record, or `null` if nothing is to be saved. */
  next: (record: ProxyRecord | null) => ProxyDraft | null;
  right: WriteRight | undefined;
  /** True if a record is to be saved that the store does not have. */
  isNew?: boolean;
  resolve: (record: ProxyRecord | null) => void;
  reject: (error: unknown) => void;
}

export function createRecorder({ store, clock, random, countryOf, checkCostMs }: RecorderOptions) {
  const queue: Waiting[] = [];
  let unsaved = 0;
  /** True if a flush is scheduled. */
  let timed = false;
  let last: Promise<void> = Promise.resolve();

  /** Saves one batch after the other while `more` returns true for the number waiting. */
  function saveWhile(more: (waiting: number) => boolean): Promise<void> {
    last = last.then(async () => {
      while (more(queue.length)) {
        await saveBatch(queue.splice(0, BATCH));
        await breathe();
      }
    });
    return last;
  }

  /** Changes that arrive meanwhile wait for another batch: small batches cost nearly as much as full ones. */
  function flush(): Promise<void> {
    let batches: number | null = null;
    return saveWhile((waiting) => {
      batches = (batches ?? Math.ceil(waiting / BATCH)) - 1;
      return batches >= 0;
    });
  }

  async function saveBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      for (const [right, part] of Map.groupBy(batch, ({ right }) => right)) {
        await savePart(part, right);
      }
    } finally {
      unsaved -= batch.length;
    }
  }

  async function savePart(batch: readonly Waiting[], right: WriteRight | undefined): Promise<void> {
    try {
      const records = right?.lost.aborted ? new Map<string, ProxyRecord>() : await write(batch, right);
      for (const { endpoint, resolve } of batch) resolve(records.get(formatUrl(endpoint)) ?? null);
    } catch (error) {
      // A full store may take what is learnt of the proxies that it has, but no batch with a new one.
      const known = isStorageFull(error) ? batch.filter(({ isNew }) => !isNew) : [];
      const again = known.length < batch.length ? known : [];
      for (const one of batch) if (!again.includes(one)) one.reject(error);
      if (again.length > 0) await savePart(again, right);
    }
  }

  async function write(
    batch: readonly Waiting[],
    right: WriteRight | undefined,
  ): Promise<Map<string, ProxyRecord>> {
    const known = await store.lookup(batch.map(({ endpoint }) => endpoint));
    const records = new Map(known.map((record) => [formatUrl(record), record]));
    const drafts = new Map<string, ProxyDraft>();
    for (const one of batch) {
      const key = formatUrl(one.endpoint);
      const record = records.get(key) ?? null;
      const draft = one.next(record);
      if (!draft) continue;
      one.isNew = !record?.id;
      drafts.set(key, draft);
      // A second change of an endpoint in the same batch builds on the first.
      records.set(key, { ...draft, id: record?.id ?? 0 });
    }
    if (drafts.size > 0) {
      for (const saved of await store.save([...drafts.values()], right)) records.set(formatUrl(saved), saved);
    }
    return records;
  }

  /** Returns the record after a check that ended at `at`. */
  function after(outcome: Outcome, at: number, record: ProxyRecord | null): ProxyDraft | null {
    const { result, forgettable = false } = outcome;
    // Addresses that must not be dialled never enter the pool, however they got here.
    if (!record && result.verdict === 'dead' && (forgettable || result.error === 'refused_address'))
      return null;
    const draft = observe({ ...outcome, record }, result, at, countryOf);
    if (draft) draft.nextCheck = nextCheckAt(draft, checkCostMs(), random());
    return draft;
  }

  function enqueue(
    endpoint: Endpoint,
    next: Waiting['next'],
    right?: WriteRight,
  ): Promise<ProxyRecord | null> {
    const { promise: saved, resolve, reject } = Promise.withResolvers<ProxyRecord | null>();
    // Callers may await it long after it has failed. An unhandled rejection would end the process meanwhile.
    saved.catch(() => {});
    queue.push({ endpoint, next, right, resolve, reject });
    unsaved++;
    if (queue.length === BATCH) void saveWhile((waiting) => waiting >= BATCH);
    if (!timed) {
      timed = true;
      void clock.sleep(FLUSH_AFTER_MS).then(() => {
        timed = false;
        return flush();
      });
    }
    return saved;
  }

  return {
    /**
     * Adds an outcome, which is saved within a second. Resolves with the record after it, or with `null` if the check
     * said nothing or the job has lost its right to write. Rejects with the store's error.
     */
    add(outcome: Outcome): Promise<ProxyRecord | null> {
      if (outcome.result.verdict === 'unknown') return Promise.resolve(null);
      const at = clock.now();
      return enqueue(outcome.endpoint, (record) => after(outcome, at, record), outcome.right);
    },
    /**
     * Changes a record for a reason other than a check. Resolves with the record after it, or `null` if it no longer
     * exists.
     */
    change: (endpoint: Endpoint, change: (record: ProxyRecord) => ProxyDraft) =>
      enqueue(endpoint, (record) => record && change(record)),
    /** Saves what is waiting now. Never rejects: failures go to the callers of `add`. */
    flush,
    /** Number of outcomes that are not saved yet. */
    waiting: () => unsaved,
  };
}

/**
 * Saves outcomes in batches. All checks of a process go through one recorder, one batch after the other, so that each
 * outcome is added to the current history, and none is lost to a write from elsewhere.
 */
export type Recorder = ReturnType<typeof createRecorder>;
