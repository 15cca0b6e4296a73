import type { Clock } from '../../lib/clock.ts';
import type { Fence, Lease } from '../../lib/locks.ts';
import { breathe } from '../../lib/schedule.ts';
import { type Checked, observe } from '../history.ts';
import { type CheckResult, type Endpoint, formatUrl, type ProxyRecord } from '../proxy.ts';
import { nextCheckAt } from '../recheck/schedule.ts';
import type { ProxyDraft, ProxyStore } from '../store.ts';

/** A check and its outcome. */
export interface Outcome extends Omit<Checked, 'record'> {
  result: CheckResult;
  /** Where the pool does not know the proxy and it does not work, nothing is stored. */
  forgettable?: boolean;
  /** Of the background job that checked; what a user asked for has none. */
  right?: WriteRight;
}

/** The right of a job to write. Once its lease is lost, its outcomes are dropped. */
export interface WriteRight extends Fence {
  lost: AbortSignal;
}

/** The right that comes with a lease. `name`: of the lock. */
export function rightOf(name: string, { token, lost }: Lease): WriteRight {
  return { name, token, lost };
}

export interface RecorderOptions {
  store: Pick<ProxyStore, 'lookup' | 'save'>;
  clock: Clock;
  random: () => number;
  countryOf: (address: string) => string;
  /** What a check costs at the moment; see `schedule.ts`. */
  checkCostMs: () => number;
}

/**
 * Writes outcomes down in batches. All checks of a process pass through one recorder, one batch after the other, so
 * that each outcome is added to the history as it stands and none is lost to a write from elsewhere.
 */
export interface Recorder {
  /**
   * Takes an outcome, which is saved within a second. Resolves to the record after it, or to `null` where the
   * check said nothing, or the job that checked has lost its right to write; rejects with what the store threw.
   */
  add(outcome: Outcome): Promise<ProxyRecord | null>;
  /** Changes what is known otherwise than by a check. Resolves to the record after it, `null` where it is gone. */
  change(endpoint: Endpoint, change: (record: ProxyRecord) => ProxyDraft): Promise<ProxyRecord | null>;
  /** Saves what is waiting now. Never rejects: failures go to the callers that added. */
  flush(): Promise<void>;
  /** Outcomes that are not saved yet. */
  waiting(): number;
}

/** One of these takes a store in this process some 5 ms, in which nobody else has a turn. */
const BATCH = 200;
const FLUSH_AFTER_MS = 1000;

interface Waiting {
  endpoint: Endpoint;
  /** The record after it; `null` where nothing is to be saved. */
  next: (record: ProxyRecord | null) => ProxyDraft | null;
  right: WriteRight | undefined;
  resolve: (record: ProxyRecord | null) => void;
  reject: (error: unknown) => void;
}

/** What may not be dialled does not come into the pool, whatever way it took here. */
function isRefused(result: CheckResult): boolean {
  return result.verdict === 'dead' && result.error === 'refused_address';
}

function isForgotten({ result, forgettable }: Outcome): boolean {
  return forgettable === true && result.verdict === 'dead';
}

export function createRecorder({ store, clock, random, countryOf, checkCostMs }: RecorderOptions): Recorder {
  const queue: Waiting[] = [];
  let unsaved = 0;
  /** A flush is to come. */
  let timed = false;
  let last: Promise<void> = Promise.resolve();

  /** One batch after the other while `more` says so, given how many wait. */
  function saveWhile(more: (waiting: number) => boolean): Promise<void> {
    last = last.then(async () => {
      while (more(queue.length)) {
        await saveBatch(queue.splice(0, BATCH));
        await breathe();
      }
    });
    return last;
  }

  /** What comes in meanwhile waits for a batch of its own: small ones cost nearly as much as full ones. */
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
      for (const { reject } of batch) reject(error);
    }
  }

  async function write(
    batch: readonly Waiting[],
    right: WriteRight | undefined,
  ): Promise<Map<string, ProxyRecord>> {
    const known = await store.lookup(batch.map(({ endpoint }) => endpoint));
    const records = new Map(known.map((record) => [formatUrl(record), record]));
    const drafts = new Map<string, ProxyDraft>();
    for (const { endpoint, next } of batch) {
      const key = formatUrl(endpoint);
      const record = records.get(key) ?? null;
      const draft = next(record);
      if (!draft) continue;
      drafts.set(key, draft);
      // A second change of one endpoint in a batch builds on the first.
      records.set(key, { ...draft, id: record?.id ?? 0 });
    }
    if (drafts.size > 0) {
      for (const saved of await store.save([...drafts.values()], right)) records.set(formatUrl(saved), saved);
    }
    return records;
  }

  /** The record after a check that ended at `at`. */
  function after(outcome: Outcome, at: number, record: ProxyRecord | null): ProxyDraft | null {
    if (!record && (isRefused(outcome.result) || isForgotten(outcome))) return null;
    const draft = observe({ ...outcome, record }, outcome.result, at, countryOf);
    if (draft) draft.nextCheck = nextCheckAt(draft, checkCostMs(), random());
    return draft;
  }

  function enqueue(
    endpoint: Endpoint,
    next: Waiting['next'],
    right?: WriteRight,
  ): Promise<ProxyRecord | null> {
    return new Promise((resolve, reject) => {
      queue.push({ endpoint, next, right, resolve, reject });
      unsaved++;
      if (queue.length === BATCH) void saveWhile((waiting) => waiting >= BATCH);
      if (timed) return;
      timed = true;
      void clock.sleep(FLUSH_AFTER_MS).then(() => {
        timed = false;
        return flush();
      });
    });
  }

  return {
    add(outcome) {
      if (outcome.result.verdict === 'unknown') return Promise.resolve(null);
      const at = clock.now();
      return enqueue(outcome.endpoint, (record) => after(outcome, at, record), outcome.right);
    },
    change: (endpoint, change) => enqueue(endpoint, (record) => record && change(record)),
    flush,
    waiting: () => unsaved,
  };
}
