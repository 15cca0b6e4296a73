import type { Call } from './calls.ts';

/** How long copies may show an image that another one has deleted, in ms. */
const STALE_MS = 2000;

/** Judges what clients and an observer saw of a fleet. Returns what must not have happened, as sentences. */
export function judge(calls: readonly Call[]): string[] {
  const faults: string[] = [];
  for (const [id, ofImage] of Map.groupBy(calls.filter(isOfImage), (call) => call.id)) {
    faults.push(...judgeImage(id, ofImage));
  }
  for (const [copy, seen] of Map.groupBy(calls.filter(isRefresh), (call) => call.copy)) {
    faults.push(...judgeRefreshes(copy, seen));
  }
  return faults;
}

type ImageCall = Exclude<Call, { kind: 'refresh' }>;
type RefreshCall = Extract<Call, { kind: 'refresh' }>;

const isOfImage = (call: Call): call is ImageCall => call.kind !== 'refresh';
const isRefresh = (call: Call): call is RefreshCall => call.kind === 'refresh';

/**
 * An image exists from its acknowledgement until one moment within a deletion, and never again. Checks that such a
 * moment agrees with all calls.
 */
function judgeImage(id: string, calls: readonly ImageCall[]): string[] {
  const uploaded = Math.min(...calls.flatMap((call) => (call.kind === 'upload' ? [call.end] : [])));
  const deletions = calls.filter((call) => call.kind === 'delete');
  const reads = calls.filter((call) => call.kind === 'read');
  const missed = reads.filter(({ found, start }) => !found && start >= uploaded);
  const begun = Math.min(...deletions.map(({ start }) => start));
  const early = missed.find(({ end }) => end < begun);
  if (early) return [`image ${id} was acknowledged at ${ms(uploaded)} and is missing at ${ms(early.end)}`];

  const gone = Math.min(
    ...missed.map(({ end }) => end),
    ...deletions.filter(({ done }) => done).map(({ end }) => end),
  );
  const back = reads.find(({ found, start }) => found && start - STALE_MS > gone);
  return back ? [`image ${id} was gone at ${ms(gone)} and is back at ${ms(back.start)}`] : [];
}

/** Each copy sees jobs one after the other; what has ended does not run again. */
function judgeRefreshes(copy: string, seen: readonly RefreshCall[]): string[] {
  const faults: string[] = [];
  const ended = new Set<string>();
  let last: string | undefined;
  for (const { job, running, start } of seen) {
    if (job !== last && last !== undefined) ended.add(last);
    if (running && ended.has(job))
      faults.push(`${copy} says at ${ms(start)} that refresh ${job} runs, which had ended`);
    if (!running) ended.add(job);
    last = job;
  }
  return faults;
}

const ms = (time: number) => `${Math.round(time)} ms`;
