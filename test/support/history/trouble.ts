import type { Copy } from '../servers/fleet.ts';
import type { HistoryWorld } from './world.ts';

/** What was done to the fleet, by kind. */
export type Troubles = Record<string, number>;

/**
 * Kills copies, stops them for 15 to 40 s, and cuts, stalls and slows their links, until the signal. Resolves when all is well
 * again.
 */
export async function makeTrouble(
  { fleet, links, refreshing }: HistoryWorld,
  random: () => number,
  ended: AbortSignal,
): Promise<Troubles> {
  const troubles: Troubles = {};
  const busy = new Set<Copy>();
  const running: Promise<void>[] = [];
  const between = (least: number, most: number) => least + random() * (most - least);
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)];

  const count = (kind: string) => {
    troubles[kind] = (troubles[kind] ?? 0) + 1;
  };

  async function kill(): Promise<void> {
    const copy = pick(fleet.copies.filter((one) => !busy.has(one)));
    if (!copy || busy.size > 0) return;
    count('kill');
    busy.add(copy);
    await copy.kill();
    await pause(between(100, 1500));
    await copy.start();
    busy.delete(copy);
  }

  async function stop(): Promise<void> {
    // Who holds a lease has most to say when it comes back.
    const copy = random() < 0.7 ? refreshing() : pick(fleet.copies);
    if (!copy || busy.size > 0) return;
    count('stop');
    busy.add(copy);
    copy.pause();
    await pause(between(15_000, 40_000));
    copy.resume();
    busy.delete(copy);
  }

  async function disturb(how: 'cut' | 'stall' | 'slow'): Promise<void> {
    const link = pick(links);
    count(how);
    if (how === 'slow') link?.slow(between(50, 400));
    else link?.[how]();
    await pause(between(1000, 8000));
    link?.open();
  }

  /** Ends early at the signal. */
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      ended.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  const kinds = {
    kill,
    stop,
    cut: () => disturb('cut'),
    stall: () => disturb('stall'),
    slow: () => disturb('slow'),
  };
  while (!ended.aborted) {
    await pause(between(500, 3000));
    const kind = pick(Object.keys(kinds) as (keyof typeof kinds)[]) ?? 'kill';
    running.push(kinds[kind]());
  }
  await Promise.all(running);
  for (const link of links) link.open();
  return troubles;
}
