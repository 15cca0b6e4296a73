import type { Clock } from '../../lib/clock.ts';
import type { Lease, Locks } from '../../lib/locks.ts';
import type { Log } from '../../lib/logger.ts';
import type { Checker } from '../check/checker.ts';
import type { CheckBudget } from '../check-budget.ts';
import type { ProxyRecord } from '../proxy.ts';
import { type Recorder, rightOf } from '../refresh/recorder.ts';
import type { ProxyStore } from '../store.ts';
import { nextCheckCost } from './schedule.ts';

export interface RecheckOptions {
  store: Pick<ProxyStore, 'due' | 'reschedule'>;
  recorder: Recorder;
  checker: Pick<Checker, 'check' | 'probe' | 'judges'>;
  locks: Locks;
  clock: Clock;
  log: Log;
  budget: CheckBudget;
  /** Checks at once. */
  concurrency: number;
}

const LOCK = 'recheck';
const LEASE_MS = 15_000;
const TICK_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const JUDGE_RETRY = { first: 5_000, most: 60_000 } as const;
/** When to try again what no judge was there for, although another judge works. */
const UNKNOWN_RETRY_MS = 5 * MINUTE_MS;

/**
 * Checks what is due between the refreshes, in one process of the fleet, until the signal aborts; then resolves
 * when the checks that run have ended and are saved. While no judge answers it only asks the judges.
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
  const fence = { name: LOCK, token: lease.token };
  const running = new Map<number, Promise<void>>();
  const failures: unknown[] = [];
  let minute = { startedAt: clock.now(), checks: 0, saturated: false, lagMs: 0 };

  async function check(record: ProxyRecord): Promise<void> {
    const result = await checker.check(record, signal);
    if (signal.aborted) return;
    if (result.verdict === 'unknown') {
      const known = checker.judges().state === 'down';
      // While all judges are down everything stays due; while one is, the rest must not queue behind it.
      if (!known) await store.reschedule(record.id, clock.now() + UNKNOWN_RETRY_MS, fence);
    } else await recorder.add({ endpoint: record, source: record.source, result, right });
  }

  /**
   * Starts checks of what is due, the living first: a list that is wrong costs more than one that is short. Answers for
   * how long the last of them had been due; 0 where all that was due has had its turn. To wait until there is a queue beside
   * it raises the price later, and `bench/churn.ts` then finds 0.005 less of what works.
   */
  async function checkDue(now: number, take: number): Promise<number> {
    const isIdle = ({ id }: ProxyRecord) => !running.has(id);
    const living = (await store.due(now, take + running.size, 'alive')).filter(isIdle).slice(0, take);
    const left = take - living.length;
    // One at least, so that it shows how long the dead have been waiting where the living take every turn.
    const dead = (await store.due(now, left + running.size + 1, 'dead')).filter(isIdle);
    const fresh = [...living, ...dead.slice(0, left)];
    for (const record of fresh) {
      const task = check(record)
        .catch((error: unknown) => {
          failures.push(error);
        })
        .finally(() => running.delete(record.id));
      running.set(record.id, task);
    }
    budget.rechecks.spend(fresh.length);
    minute.checks += fresh.length;
    if (fresh.length < take) return 0;
    const last = dead[Math.max(0, left - 1)] ?? living.at(-1);
    return last ? now - last.nextCheck : 0;
  }

  budget.isRechecking = true;
  try {
    while (!signal.aborted && failures.length === 0) {
      if (checker.judges().state !== 'up') await untilJudge(options, signal);
      const now = clock.now();
      const take = Math.min(Math.floor(budget.rechecks.allowance()), concurrency - running.size);
      if (take > 0) minute.lagMs = await checkDue(now, take);
      if (running.size >= concurrency) minute.saturated = true;
      if (now - minute.startedAt >= MINUTE_MS) {
        const affordable = ((now - minute.startedAt) * budget.rechecks.perHour) / HOUR_MS;
        budget.checkCostMs = nextCheckCost(budget.checkCostMs, {
          lagMs: minute.lagMs,
          used: minute.saturated ? 1 : minute.checks / affordable,
        });
        minute = { startedAt: now, checks: 0, saturated: false, lagMs: 0 };
      }
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
