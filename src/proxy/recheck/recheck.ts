import type { Lease, Locks } from '../../lib/locks.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import type { JudgeState } from '../check/checker.ts';
import { isDoubted } from '../pool/history.ts';
import type { ProxyRecord } from '../proxy.ts';
import { rightOf } from '../refresh/recorder.ts';
import type { RoundOptions } from '../refresh/round.ts';
import type { ProxyStore } from '../store.ts';
import { CHECK_COST_MS, SOONEST_MS, waitMs } from './schedule.ts';

interface RecheckOptions
  extends Pick<RoundOptions, 'recorder' | 'checker' | 'clock' | 'log' | 'budget' | 'concurrency'> {
  store: Pick<ProxyStore, 'due' | 'reschedule' | 'sample'>;
  locks: Locks;
}

const LOCK = 'recheck';
const LEASE_MS = 15_000;
const TICK_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** How often the price of a check is computed. */
const PRICE_MS = 5 * MINUTE_MS;
/** Below this price there are more checks than proxies need, so each proxy waits until it is due. */
const AMPLE_COST_MS = 1.1 * CHECK_COST_MS.least;
/** If checks are scarce, none is left unused while a proxy is due within this time. */
const AHEAD_MS = 24 * HOUR_MS;
const JUDGE_RETRY = { first: 5_000, most: 60_000 } as const;
/** When to retry a proxy that no judge could check although another judge works. */
const UNKNOWN_RETRY_MS = 5 * MINUTE_MS;

/**
 * Checks due proxies between the refreshes, in one process of the fleet, until the signal aborts. Resolves
 * when running checks have ended and are saved. While no judge answers, it only asks the judges.
 */
export async function runRechecks(options: RecheckOptions, signal: AbortSignal): Promise<void> {
  const { locks, clock, log } = options;
  while (!signal.aborted) {
    try {
      const lease = await locks.acquire(LOCK, LEASE_MS);
      if (lease) {
        try {
          await recheck(options, lease, AbortSignal.any([signal, lease.lost]));
        } finally {
          await lease.release();
        }
      }
    } catch (error) {
      if (!signal.aborted) log('error', 'rechecks interrupted', { error });
    }
    await clock.sleep(10_000, signal).catch(() => {});
  }
}

async function recheck(options: RecheckOptions, lease: Lease, signal: AbortSignal): Promise<void> {
  const { store, recorder, checker, clock, budget, concurrency } = options;
  const right = rightOf(LOCK, lease);
  const running = new Map<number, Promise<void>>();
  const failures: unknown[] = [];
  const beginTerm = () => ({ startedAt: clock.now(), checks: 0, saturated: false });
  let term = beginTerm();

  async function check(record: ProxyRecord): Promise<void> {
    const result = await checker.check(record, signal, isDoubted(record));
    if (signal.aborted) return;
    if (result.verdict === 'unknown') {
      const known = checker.judges().state === 'down';
      // While all judges are down everything stays due. While only one is down, the rest must not queue behind it.
      if (!known) await store.reschedule(record.id, clock.now() + UNKNOWN_RETRY_MS, right);
    } else await recorder.add({ endpoint: record, source: record.source, result, right });
  }

  /** Starts checks, those of working proxies first: a wrong entry costs more than a missing one. */
  async function checkDue(now: number, take: number): Promise<void> {
    const isIdle = ({ id }: ProxyRecord) => !running.has(id);
    const living = (await store.due(now, take + running.size, 'alive')).filter(isIdle).slice(0, take);
    const left = take - living.length;
    const ahead = budget.checkCostMs > AMPLE_COST_MS ? AHEAD_MS : 0;
    const dead = left > 0 ? await store.due(now + ahead, left + running.size, 'dead') : [];
    const rested = dead.filter(
      (record) => isIdle(record) && elapsedSince(record.lastChecked, now) >= SOONEST_MS,
    );
    const fresh = [...living, ...rested.slice(0, left)];
    for (const record of fresh) {
      const task = check(record)
        .catch((error: unknown) => {
          failures.push(error);
        })
        .finally(() => running.delete(record.id));
      running.set(record.id, task);
    }
    budget.rechecks.spend(fresh.length);
    term.checks += fresh.length;
  }

  /** Moves halfway to the new price, because a sample is not the whole pool. */
  async function price(now: number): Promise<void> {
    const made = (term.checks * HOUR_MS) / (now - term.startedAt);
    const perHour = term.saturated ? Math.min(made, budget.rechecks.perHour) : budget.rechecks.perHour;
    budget.checkCostMs = Math.sqrt(budget.checkCostMs * (await fittingCheckCost(store, perHour)));
    term = beginTerm();
  }

  budget.isRechecking = true;
  try {
    while (!signal.aborted && failures.length === 0) {
      if (checker.judges().state !== 'up') await untilJudge(options, signal);
      const now = clock.now();
      const take = Math.min(Math.floor(budget.rechecks.allowance()), concurrency - running.size);
      if (take > 0) await checkDue(now, take);
      if (running.size >= concurrency) term.saturated = true;
      // The clock may have been set back.
      if (now < term.startedAt) term = beginTerm();
      else if (now - term.startedAt >= PRICE_MS) await price(now);
      await clock.sleep(TICK_MS, signal).catch(() => {});
    }
  } finally {
    budget.isRechecking = false;
    await recorder.flush();
    await Promise.all(running.values());
  }
  if (failures.length > 0) throw failures[0];
}

/** Resolves when a judge answers or the signal aborts. */
async function untilJudge({ checker, clock, log }: RecheckOptions, signal: AbortSignal): Promise<void> {
  let waitMs: number = JUDGE_RETRY.first;
  while (!signal.aborted && (await checker.probe()).state !== 'up') {
    if (waitMs === JUDGE_RETRY.first)
      log('warn', 'no judge responds: proxies are not rechecked until one does');
    await clock.sleep(waitMs, signal).catch(() => {});
    waitMs = Math.min(JUDGE_RETRY.most, waitMs * 2);
  }
}

/** Sample size by status. Dead proxies vary more. */
const SAMPLE = { alive: 500, dead: 1500 } as const;
/** Number of bisections of the price range, which leave less than 1 % of it. */
const HALVINGS = 12;

/**
 * Returns the price of a check, in ms of a wrong entry, at which the checks worth making are as many as an
 * hour allows. It is computed from a random sample of the pool rather than from the length of the queue: a
 * reaction to the queue takes effect hours later, and such a price oscillates.
 */
export async function fittingCheckCost(store: Pick<ProxyStore, 'sample'>, perHour: number): Promise<number> {
  const alive = await store.sample({ status: 'alive' }, SAMPLE.alive);
  const dead = await store.sample({ status: 'dead' }, SAMPLE.dead);
  const wanted = (costMs: number) => checksPerHour(alive, costMs) + checksPerHour(dead, costMs);
  let [low, high] = [Math.log(CHECK_COST_MS.least), Math.log(CHECK_COST_MS.most)];
  for (let halving = 0; halving < HALVINGS; halving++) {
    const middle = (low + high) / 2;
    if (wanted(Math.exp(middle)) > perHour) low = middle;
    else high = middle;
  }
  return Math.exp((low + high) / 2);
}

interface Sample {
  items: readonly ProxyRecord[];
  total: number;
}

function checksPerHour({ items, total }: Sample, costMs: number): number {
  const sum = items.reduce((checks, record) => checks + HOUR_MS / waitMs(record, costMs), 0);
  return items.length === 0 ? 0 : (sum * total) / items.length;
}

/** Before anything else that is due. */
const FIRST = 0;

/**
 * Creates a task that checks whether a witness is available again. If so, the proxies that were listed only
 * by what they echoed are checked next.
 */
export function createEchoedRecall(
  store: Pick<ProxyStore, 'stream' | 'reschedule'>,
  judges: () => JudgeState,
): (signal?: AbortSignal) => Promise<void> {
  let recalled = false;
  return async (signal) => {
    if (judges().witnesses.state !== 'up') {
      recalled = false;
      return;
    }
    if (recalled) return;
    for await (const batch of store.stream({ status: 'alive', proofs: ['echoed'] })) {
      for (const { id } of batch) {
        if (signal?.aborted) return;
        await store.reschedule(id, FIRST);
      }
    }
    recalled = true;
  };
}
