import { setTimeout as sleep } from 'node:timers/promises';
import { CLEANUP_LOCK_TTL_MS } from '../../../src/image/maintenance/cleanup.ts';
import { originalKey } from '../../../src/image/records/blob-keys.ts';
import { until } from '../stores/services.ts';
import type { Call } from './calls.ts';
import { type Clients, createClients, type Known } from './clients.ts';
import { judge } from './judge.ts';
import { makeTrouble, type Troubles } from './trouble.ts';
import type { HistoryWorld } from './world.ts';

const CLIENTS = 16;

export interface HistoryReport {
  calls: Call[];
  troubles: Troubles;
  /** What must not have happened, in sentences. */
  faults: string[];
}

/** Uses a fleet in trouble for this long, and judges what was seen. */
export async function runHistory(
  world: HistoryWorld,
  { seconds, random }: { seconds: number; random: () => number },
): Promise<HistoryReport> {
  const clients = createClients(world, random);
  const ending = new AbortController();
  const trouble = makeTrouble(world, random, ending.signal);
  const using = clients.use(CLIENTS, ending.signal);
  await sleep(seconds * 1000);
  ending.abort();
  const troubles = await trouble;
  await using;
  const end = await lookAtTheEnd(world, clients);
  const { calls, unexpected } = clients;
  return { calls, troubles, faults: [...end, ...unexpected, ...judge(calls)] };
}

/** Reads everything once more when all copies are well, and checks the files. Returns what is wrong. */
export async function lookAtTheEnd({ fleet, files }: HistoryWorld, clients: Clients): Promise<string[]> {
  const faults: string[] = [];
  for (const copy of fleet.copies) {
    await until(() => isReady(copy.url)).catch(async () => {
      const answer = await fetch(`${copy.url}/readyz`).catch((error: unknown) => new Response(String(error)));
      faults.push(`a copy does not recover: ${(await answer.text()).slice(0, 500)}`);
    });
  }
  // Copies may show for so long what others have deleted.
  await sleep(2000);
  for (const [index, image] of [...clients.images, ...clients.deleted].entries()) {
    const copy = fleet.copies[index % fleet.copies.length];
    await until(async () => [200, 404].includes((await clients.read(image, copy)) ?? 0)).catch(() =>
      faults.push(`image ${image.id} cannot be read at the end`),
    );
  }
  const placed = new Set(await files.placed());
  const gone = clients.images.filter((image) => !placed.has(keyOf(image)));
  faults.push(...gone.map(({ id }) => `the file of ${id} is gone`));

  const done = new Set(
    clients.calls.flatMap((call) => (call.kind === 'delete' && call.done ? [call.id] : [])),
  );
  const deleted = new Set(clients.deleted.filter(({ id }) => done.has(id)).map(keyOf));
  const left = async () =>
    [...(await files.placed()), ...(await files.quarantined())].filter((key) => deleted.has(key));
  // A copy that was killed while it cleaned up holds its lease for so long.
  await until(async () => (await left()).length === 0, CLEANUP_LOCK_TTL_MS + 15_000).catch(() => {});
  return [...faults, ...(await left()).map((key) => `the file ${key} of a deleted image stays`)];
}

const keyOf = ({ id }: Known) => originalKey({ id, format: 'png' });

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).catch(() => null);
  return answer?.status === 200 && !('degraded' in ((await answer.json()) as object));
}
