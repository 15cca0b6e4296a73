import { forEachBounded } from '../../lib/for-each-bounded.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import type { Queue, Turn } from '../discovery/queue.ts';
import type { TrialsContext } from '../discovery/trials.ts';
import type { Candidates, Known } from './candidates.ts';
import { showHealth } from './fetch.ts';
import { RefreshFault, type Round, type RoundOptions } from './round.ts';

/** Checking pauses while this many outcomes wait for the store. */
const MOST_WAITING = 5_000;
/**
 * Shares of an hour's checks that a refresh may use in advance: for entries, so that a new pool fills at once, and for
 * working proxies that are not due.
 */
const AHEAD = { discovery: 1 / 2, rechecks: 1 / 15 } as const;

/** One check of a refresh: of a proxy in the pool or of a listed entry. */
type Task = { known: Known } | { turn: Turn };

interface Work {
  candidates: Candidates;
  queue: Queue;
  context: TrialsContext;
}

/**
 * Checks until the budget is spent: working proxies, then listed entries, then dead ones that are due. Outcomes are
 * saved all along.
 * @throws {RefreshFault} `judge_down` as soon as no judge answers. Earlier outcomes count.
 */
export async function verify(options: RoundOptions, round: Round, work: Work): Promise<void> {
  const { recorder, checker, clock, budget, discovery, tryEntry, logins, refreshBudgetMs, concurrency } =
    options;
  const { job, scope, right, signal } = round;
  const { candidates, queue, context } = work;
  const now = clock.now();
  const failures: unknown[] = [];
  // Those that were checked longest ago, or one refresh after another would use up the checks for the same ones.
  const rested = ({ lastChecked }: Known) => elapsedSince(lastChecked, now);
  const good = candidates.known('good').toSorted((one, other) => rested(other) - rested(one));
  const dead = [...candidates.known('due'), ...candidates.known('dead')];
  job.candidates = good.length + dead.length + candidates.fresh.size;
  job.judge = (await checker.probe()).state;
  let started = 0;

  const isSpent = (lane: keyof typeof AHEAD, least = -AHEAD[lane] * budget.perHour) =>
    !scope.overdraws && budget[lane].allowance() < least;

  function* tasks(): Generator<Task> {
    for (const known of good) {
      // Otherwise these are due.
      if (scope.all && isSpent('rechecks')) break;
      yield { known };
    }
    while (queue.fresh > 0) {
      if (isSpent('discovery')) break;
      const turn = queue.next();
      if (!turn) break;
      yield { turn };
    }
    for (const known of dead) {
      // The recheck loop takes the rest, at its own budget.
      if (isSpent('rechecks', 1)) return;
      yield { known };
    }
  }

  function* affordable(): Generator<Task> {
    const drawn = tasks();
    while (job.judge !== 'down' && elapsedSince(now, clock.now()) < refreshBudgetMs) {
      const { done, value } = drawn.next();
      if (done) return;
      started++;
      yield value;
    }
  }

  async function keep(saved: Promise<unknown>): Promise<void> {
    if (recorder.waiting() > MOST_WAITING) await saved;
    else saved.catch((error: unknown) => failures.push(error));
  }

  async function recheck(known: Known): Promise<void> {
    budget.rechecks.spend(1);
    const endpoint = { ...known, login: logins.of(known) ?? known.login ?? null };
    const result = await checker.check(endpoint, signal, known.doubted);
    if (result.verdict === 'unknown') {
      // It stays among the first, and must not take the checks of all others.
      budget.rechecks.spend(-1);
      job.judge = checker.judges().state;
      return;
    }
    job.checked++;
    if (result.verdict === 'alive') job.alive++;
    await keep(recorder.add({ endpoint, source: '', result, right }));
  }

  async function tryOne(turn: Turn): Promise<void> {
    const trial = await tryEntry(turn, context, signal);
    if (!trial) {
      job.judge = checker.judges().state;
      return;
    }
    discovery.note(turn, trial.alive);
    const progress = job.sources[turn.source];
    job.checked++;
    if (progress) progress.checked++;
    if (trial.alive) {
      job.alive++;
      if (progress) progress.alive++;
    }
    await keep(trial.saved);
  }

  try {
    if (job.judge !== 'down') {
      const check = (task: Task) => ('known' in task ? recheck(task.known) : tryOne(task.turn));
      await forEachBounded(affordable(), concurrency, check, signal);
    }
  } finally {
    job.skipped = job.candidates - started;
    await recorder.flush();
  }
  signal.throwIfAborted();
  if (failures.length > 0) throw failures[0];
  if (job.judge === 'down') throw new RefreshFault('judge_down');
  noteYields(options, round);
  if (round.fault !== null) throw new RefreshFault(round.fault);
}

/** Records the results of first checks since the last call. */
export function noteYields({ discovery, sources, clock }: RoundOptions, { job, book }: Round): void {
  for (const [index, counts] of discovery.counted()) {
    const name = sources[index]?.name;
    if (name === undefined) continue;
    book.checked(name, counts, clock.now());
    const progress = job.sources[index];
    if (progress) showHealth(progress, book);
  }
}
