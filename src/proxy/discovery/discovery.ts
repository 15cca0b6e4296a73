import { AppError } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/logger.ts';
import { elapsedSince, plannedFor } from '../../lib/stored-time.ts';
import type { CheckBudget } from '../check/check-budget.ts';
import type { Checker } from '../check/checker.ts';
import { passMs } from '../recheck/schedule.ts';
import type { Pass } from './pass.ts';
import type { Queue, Turn } from './queue.ts';
import type { TrialsContext, Try } from './trials.ts';

export interface DiscoveryOptions {
  checker: Pick<Checker, 'probe' | 'judges'>;
  tryEntry: Try;
  budget: CheckBudget;
  pass: Pass;
  clock: Clock;
  log: Log;
  /** Maximum number of checks at once. */
  concurrency: number;
  /** Returns false as soon as another copy of the server has started a later refresh. */
  isLatest: (jobId: string) => Promise<boolean>;
}

/** The entries that a refresh leaves to be tried until the next one. */
interface Leftover {
  jobId: string;
  queue: Queue;
  /** Number of listed entries that an earlier pass has tried, in the queue or not. */
  again: number;
  context: TrialsContext;
}

/** First checks by index of the list. */
type Yields = Map<number, { checked: number; alive: number }>;

const TICK_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Rechecks look for a judge while none answers. This is for copies that do not recheck. */
const JUDGE_RETRY_MS = 30_000;
/** An undecided trial waits, because the judge of its scheme may be down for long. */
const UNDECIDED_MS = 5 * MINUTE_MS;

export function createDiscovery(options: DiscoveryOptions) {
  const { checker, tryEntry, budget, pass, clock, log, concurrency, isLatest } = options;
  const running = new Set<Promise<void>>();
  let leftover: Leftover | null = null;
  let yields: Yields = new Map();
  /** Turns that no judge could decide, in the order in which they are due again. */
  let undecided: { turn: Turn; dueAt: number }[] = [];

  function note(turn: Turn, alive: boolean): void {
    if (!turn.isNew) return;
    const counts = yields.get(turn.source) ?? { checked: 0, alive: 0 };
    counts.checked++;
    if (alive) counts.alive++;
    yields.set(turn.source, counts);
  }

  function isUndecidedDue(): boolean {
    const [first] = undecided;
    const now = clock.now();
    return first !== undefined && plannedFor(first.dueAt, now, UNDECIDED_MS) <= now;
  }

  /** New entries are tried as fast as the budget allows, the rest evenly over the pass. */
  function wanted({ queue, again }: Leftover): number {
    if (queue.fresh > 0 || isUndecidedDue() || budget.discovery.allowance() < 0) return budget.perHour;
    if (queue.again === 0) return 0;
    const leftMs = passMs(budget.checkCostMs) - elapsedSince(pass.startedAt, clock.now());
    return (again * HOUR_MS) / Math.max(HOUR_MS, leftMs);
  }

  function start(turn: Turn, context: TrialsContext, signal: AbortSignal): void {
    const task = tryEntry(turn, context, signal)
      .then(async (trial) => {
        if (!trial) undecided.push({ turn, dueAt: clock.now() + UNDECIDED_MS });
        else {
          note(turn, trial.alive);
          await trial.saved;
        }
      })
      .catch((error: unknown) => {
        // A later refresh has begun. One of another copy continues from here; one of this copy may have left more since.
        if (!(error instanceof AppError && error.code === 'conflict'))
          log('warn', 'trial not saved', { error });
        else if (leftover?.context === context) leftover = null;
      })
      .finally(() => running.delete(task));
    running.add(task);
  }

  function drawSome(from: Leftover, signal: AbortSignal): void {
    budget.discover(wanted(from));
    const most = Math.min(Math.floor(budget.discovery.allowance()), concurrency - running.size);
    for (let count = 0; count < most; count++) {
      const turn = from.queue.next() ?? (isUndecidedDue() ? undecided.shift()?.turn : undefined);
      if (!turn) return;
      start(turn, from.context, signal);
    }
  }

  /** Once everything was tried and the pass has lasted long enough, the next refresh starts the next pass. */
  function endPass({ queue }: Leftover): void {
    if (!queue.isWhole || queue.fresh + queue.again > 0) return;
    if (elapsedSince(pass.startedAt, clock.now()) < passMs(budget.checkCostMs)) return;
    pass.turn(clock.now());
    leftover = null;
  }

  return {
    /** Records how the trial of an entry ended. */
    note,
    /** Called when a refresh begins: draws nothing more until `resume`. */
    pause(): void {
      leftover = null;
      undecided = [];
    },
    /** Returns the results of first checks since the last call. */
    counted(): Yields {
      const counted = yields;
      yields = new Map();
      return counted;
    },
    resume(next: Leftover): void {
      leftover = next;
    },
    /** Runs until the signal aborts. Resolves when running trials have ended. */
    async run(signal: AbortSignal): Promise<void> {
      let savedAt = clock.now();
      let askedAt = Number.NEGATIVE_INFINITY;
      while (!signal.aborted) {
        const now = clock.now();
        const current = leftover;
        if (current && elapsedSince(savedAt, now, 0) >= MINUTE_MS) {
          savedAt = now;
          await pass.save().catch((error: unknown) => log('warn', 'pass not saved', { error }));
          const latest = await isLatest(current.jobId).catch(() => true);
          if (!latest && leftover === current) leftover = null;
        }
        if (!leftover) budget.discover(0);
        else if (checker.judges().state === 'up') {
          drawSome(leftover, signal);
          endPass(leftover);
        } else if (elapsedSince(askedAt, now, 0) >= JUDGE_RETRY_MS) {
          askedAt = now;
          await checker.probe();
        }
        await clock.sleep(TICK_MS, signal).catch(() => {});
      }
      await Promise.all(running);
      await pass.save().catch((error: unknown) => log('warn', 'pass not saved', { error }));
    },
  };
}

/** Tries listed entries between refreshes, in the copy of the server that has read the lists. */
export type Discovery = ReturnType<typeof createDiscovery>;
