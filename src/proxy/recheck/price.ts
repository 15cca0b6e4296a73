import type { ProxyRecord } from '../proxy.ts';
import type { ProxyStore } from '../store.ts';
import { CHECK_COST_MS, waitMs } from './schedule.ts';

const HOUR_MS = 3_600_000;
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
