import { expect, test } from 'bun:test';
import type { ProxyRecord, Status } from '../../src/proxy/proxy.ts';
import { fittingCheckCost } from '../../src/proxy/recheck/recheck.ts';
import { CHECK_COST_MS, waitMs } from '../../src/proxy/recheck/schedule.ts';
import { draft } from '../support/pool/pool.ts';

const HOUR = 3_600_000;
const now = Date.UTC(2026, 0, 2);

/** A pool of which a part stands for all, as a store draws it. */
function poolOf(counts: Record<Status, number>, factor = 1) {
  const records = (['alive', 'dead'] as const).flatMap((status) =>
    Array.from({ length: counts[status] }, (_, n) => {
      const facts = { status, uptime: n / counts[status], uptimeWeight: 1, lastChecked: now } as const;
      return { ...draft(`http://192.0.2.${n + 1}:80`, now - HOUR, facts), id: n } as ProxyRecord;
    }),
  );
  return {
    records,
    async sample({ status }: { status?: Status }) {
      const items = records.filter((record) => record.status === status);
      return { items, total: factor * items.length };
    },
  };
}

const wanted = (records: readonly ProxyRecord[], costMs: number) =>
  records.reduce((checks, record) => checks + HOUR / waitMs(record, costMs), 0);

test('at the right price, the pool wants exactly the checks that there are', async () => {
  const pool = poolOf({ alive: 30, dead: 200 });
  for (const perHour of [200, 500, 1000]) {
    const costMs = await fittingCheckCost(pool, perHour);
    expect(wanted(pool.records, costMs) / perHour).toBeCloseTo(1, 1);
  }
});

test('each proxy of the sample represents its share of the pool', async () => {
  const [part, all] = [poolOf({ alive: 30, dead: 200 }, 10), poolOf({ alive: 30, dead: 200 })];
  expect(await fittingCheckCost(part, 5000)).toBeCloseTo(await fittingCheckCost(all, 500));
});

test('the price stays within its bounds, in an empty pool and in one that is far too large', async () => {
  const [few, many] = [poolOf({ alive: 0, dead: 0 }), poolOf({ alive: 100, dead: 200 }, 1000)];
  expect((await fittingCheckCost(few, 1000)) / CHECK_COST_MS.least).toBeCloseTo(1, 2);
  expect((await fittingCheckCost(many, 10)) / CHECK_COST_MS.most).toBeCloseTo(1, 2);
});
