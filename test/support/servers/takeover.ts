import { ADMIN } from '../admin.ts';
import type { RefreshWorld } from '../farm/refresh-world.ts';
import { until } from '../stores/services.ts';
import type { Copy, Fleet } from './fleet.ts';

interface Job {
  id: string;
  state: string;
  error: string | null;
}

/**
 * Starts a refresh, kills the copy that runs it after `killAfterMs`, and waits for the next one to end. Rejects
 * when it is not done by then, or when the judge saw checks of two copies mixed. Starts the killed copy again.
 */
export async function takeOver(fleet: Fleet, world: RefreshWorld, killAfterMs: number) {
  const from = world.seen.length;
  const answer = await fleet.send('/api/refresh', { method: 'POST', headers: ADMIN });
  const { job } = (await answer.json()) as { job: Job };
  await until(async () => world.seen.length > from);
  const holder = fleet.copies.find(({ incarnation }) => incarnation === world.seen.at(-1)?.incarnation);
  if (!holder) throw new Error('nobody runs the refresh');
  await Bun.sleep(killAfterMs);
  await holder.kill();
  const killedAt = Date.now();
  const killedAs = holder.incarnation;
  const survivor = fleet.copies.find(({ running }) => running);
  const ended = await jobAfter(survivor, job.id);
  const seen = world.seen.slice(from).map((one) => one.incarnation);
  const runs = seen.filter((one, index) => one !== seen[index - 1]);
  if (runs.length !== 2 || runs[0] !== killedAs) {
    throw new Error(`the judge saw checks of the copies ${runs} in turn, where ${killedAs} was killed`);
  }
  if (ended.state !== 'done') throw new Error(`the next refresh ended as ${ended.state} ${ended.error}`);
  const first = world.seen.slice(from).find(({ incarnation }) => incarnation !== killedAs);
  await holder.start();
  const before = seen.filter((one) => one === killedAs).length;
  return {
    /** From the kill to the first check of the next refresh that the judge saw, in ms. */
    afterMs: (first?.at ?? 0) - killedAt,
    /** Checks of the process that was killed, and of the one that followed. */
    checks: [before, seen.length - before] as const,
  };
}

/** The next job after that one, when it has ended; rejects after 60 s. */
export async function jobAfter(copy: Copy | undefined, id: string): Promise<Job> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const answer = await fetch(`${copy?.url}/api/status`).catch(() => null);
    const job = answer?.ok ? ((await answer.json()) as { refresh: Job }).refresh : null;
    if (job && job.id !== id && job.state !== 'running') return job;
    await Bun.sleep(100);
  }
  throw new Error(`there was no refresh after ${id}: ${copy?.stderr()}`);
}
