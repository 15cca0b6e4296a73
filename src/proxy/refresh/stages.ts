import { createQueue } from '../discovery/queue.ts';
import { NO_SOURCE } from '../discovery/rows.ts';
import type { TrialsContext } from '../discovery/trials.ts';
import { fetchLists } from './fetch.ts';
import type { RefreshJob, Stage } from './progress.ts';
import type { Round, RoundOptions } from './round.ts';
import { noteYields, verify } from './verify.ts';

/** Runs a stage of a job. */
type InStage = <T>(job: RefreshJob, stage: Stage, work: () => Promise<T>) => Promise<T>;

const HOUR_MS = 3_600_000;
/** Many working HTTP proxies also pass when tried with CONNECT. */
const LIKELY = 0.3;
/** Minimum capacity of a queue, however low the budget is. */
const LEAST_QUEUE = 10_000;

/**
 * Fetches, verifies, stores and cleans up. Entries for which there was no time are left to discovery between
 * refreshes.
 */
export async function goThroughStages(options: RoundOptions, round: Round, inStage: InStage): Promise<void> {
  const { discovery, pass, recorder, sources, budget, refreshIntervalMs, maxPool } = options;
  const { job, book } = round;
  discovery.pause();
  await pass.catchUp();
  noteYields(options, round);
  const candidates = await inStage(job, 'fetch', () => fetchLists(options, round));
  await book.save();
  const queue = await createQueue({
    fresh: candidates.fresh,
    again: candidates.again,
    yieldOf: (source) => (source === NO_SOURCE ? LIKELY : book.promiseOf(sources[source]?.name ?? '')),
    pass,
    // The next reading may take a while, and an hour may have some checks to spare.
    most: Math.ceil((1.2 * budget.perHour * refreshIntervalMs) / HOUR_MS) + LEAST_QUEUE,
  });
  const context: TrialsContext = {
    pass,
    right: round.right,
    isCrowded: candidates.pool + pass.tried + candidates.fresh.size + candidates.again.size > maxPool,
    isKnown: candidates.isKnown,
  };
  try {
    await inStage(job, 'verify', () => verify(options, round, { candidates, queue, context }));
  } finally {
    await inStage(job, 'store', () => recorder.flush());
    discovery.resume({ jobId: job.id, queue, again: candidates.again.size, context });
  }
  await book.save();
  await inStage(job, 'cleanup', () => cleanUp(options, round));
}

/** Removes proxies that have been dead for too long, and those for which there is no room. */
async function cleanUp(
  { store, clock, deadRetentionMs, maxPool }: RoundOptions,
  { job, right }: Round,
): Promise<void> {
  job.removed = await store.removeDead(clock.now() - deadRetentionMs, right);
  job.removed += await store.evict(maxPool, right);
}
