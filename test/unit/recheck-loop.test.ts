import { afterEach, expect, test } from 'bun:test';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import type { Database } from '../../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import type { Locks } from '../../src/lib/locks.ts';
import { createCheckBudget } from '../../src/proxy/check/check-budget.ts';
import { formatUrl, type ProxyRecord } from '../../src/proxy/proxy.ts';
import { fittingCheckCost, runRechecks } from '../../src/proxy/recheck/recheck.ts';
import { CHECK_COST_MS } from '../../src/proxy/recheck/schedule.ts';
import type { ProxyStore } from '../../src/proxy/store.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { judgeState } from '../support/farm/judge-state.ts';
import { createNetwork, draft, recorderOf } from '../support/pool/pool.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const FIRST = CHECK_COST_MS.first;
let ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

interface Options {
  perHour?: number;
  concurrency?: number;
  locks?: Locks;
  change?: (store: ProxyStore) => Partial<ProxyStore>;
}

/** The loop alone, over a real store, with the network in the hands of the test. */
async function open({ perHour = 3600, concurrency = 1000, locks, change }: Options = {}) {
  const database: Database = await memoryDatabase();
  const real = createSqliteProxies(database);
  const store = { ...real, ...change?.(real) };
  const clock = createFakeClock(undefined, 4);
  const network = createNetwork();
  const budget = createCheckBudget(clock, perHour);
  const logged: string[] = [];
  const recorder = recorderOf({ store, clock }, () => budget.checkCostMs);
  const stopping = new AbortController();
  let done: Promise<void> = Promise.resolve();
  const stop = async () => {
    stopping.abort();
    await clock.advance(120_000);
    await done;
  };
  ends.push(() => database.close(), stop);
  return {
    ...{ store, clock, network, budget, logged, stop, stopping },
    done: () => done,
    start() {
      const log = (_: string, message: string) => void logged.push(message);
      const own = { store, recorder, checker: network, clock, log, budget, concurrency };
      done = runRechecks({ ...own, locks: locks ?? createLocalLocks() }, stopping.signal);
    },
    /** Saves living or dead proxies, checked an hour ago, that have been due since then, or become due where that is negative. */
    async due(count: number, status: 'alive' | 'dead', third = 1, since = HOUR): Promise<string[]> {
      const at = clock.now() - since;
      const lastChecked = clock.now() - HOUR;
      const changes = { status, lastChecked, run: status === 'alive' ? 1 : -5, lastAlive: null } as const;
      const drafts = Array.from({ length: count }, (_, n) =>
        draft(`http://192.0.${third}.${n + 1}:80`, at, { ...changes, nextCheck: at + n }),
      );
      return (await store.save(drafts)).map(formatUrl);
    },
  };
}

test('the living come first, and the dead have what is left of the budget', async () => {
  const loop = await open({ perHour: 4 * 3600 });
  const dead = await loop.due(20, 'dead', 1);
  const living = await loop.due(6, 'alive', 2);
  for (const url of living) loop.network.working.add(url);
  loop.start();
  await loop.clock.advance(1_000);
  expect(loop.network.asked).toEqual(living.slice(0, 4));
  await loop.clock.advance(1_000);
  expect(loop.network.asked).toEqual([...living, ...dead.slice(0, 2)]);
  expect(loop.budget.rechecks.spent).toBe(8);
});

test('where checks are scarce none is left unused: the dead that are due soonest come before their time', async () => {
  const loop = await open({ perHour: 3600 });
  const dead = await loop.due(20, 'dead', 1, -HOUR);
  loop.start();
  await loop.clock.advance(10_000);
  expect(loop.network.asked.length).toBeGreaterThan(3);
  expect(loop.network.asked).toEqual(dead.slice(0, loop.network.asked.length));
});

test('where checks are ample each waits until it is due', async () => {
  const loop = await open({ perHour: 3600 });
  await loop.due(20, 'dead', 1, -HOUR);
  loop.budget.checkCostMs = CHECK_COST_MS.least;
  loop.start();
  await loop.clock.advance(10_000);
  expect(loop.network.asked).toEqual([]);
});

test('only one that was reported since its last check, for what it may forge, is checked whatever it has delivered before', async () => {
  const loop = await open();
  await loop.due(3, 'alive');
  const at = loop.clock.now() - MINUTE;
  const bad = [{ error: 'page' }, { error: 'timeout' }, { at: at - HOUR }];
  const records = await loop.store.due(loop.clock.now(), 3, 'alive');
  const reportsOf = (n: number) =>
    JSON.stringify([bad[n], {}].map((one, ok) => ({ at, ok: ok > 0, ...one })));
  await loop.store.save(records.map((record, n) => ({ ...record, reports: reportsOf(n) })));
  const asked: [string, boolean | undefined][] = [];
  loop.network.check = async (endpoint, _signal, afresh) => {
    asked.push([formatUrl(endpoint), afresh]);
    return { verdict: 'dead', error: 'timeout' };
  };
  loop.start();
  await loop.clock.advance(3_000);
  expect(asked).toEqual([true, false, false].map((afresh, n) => [`http://192.0.1.${n + 1}:80`, afresh]));
});

test('nothing is checked again within two minutes, however few there are', async () => {
  const loop = await open({ perHour: 3600 });
  const dead = await loop.due(3, 'dead');
  loop.start();
  await loop.clock.advance(100_000);
  expect(loop.network.asked).toEqual(dead);
});

test('every five minutes the price of a check goes half of the way to the one that fits the pool', async () => {
  const loop = await open({ perHour: 60 });
  await loop.due(200, 'dead');
  loop.start();
  await loop.clock.advance(4 * MINUTE);
  expect(loop.budget.checkCostMs).toBe(FIRST);
  await loop.clock.advance(MINUTE + 1_000);
  const fitting = await fittingCheckCost(loop.store, 60);
  expect(fitting).toBeGreaterThan(2 * FIRST);
  expect(loop.budget.checkCostMs / Math.sqrt(FIRST * fitting)).toBeCloseTo(1, 1);
});

test('a clock that is set back costs no check', async () => {
  const { clock, budget } = await open({ perHour: 3600 });
  await clock.advance(MINUTE);
  const before = budget.rechecks.allowance();
  const { now } = clock;
  clock.now = () => now() - 10 * HOUR;
  expect(budget.rechecks.allowance()).toBe(before);
});

test('the price also follows the pool after the clock was set back', async () => {
  const loop = await open({ perHour: 60 });
  await loop.due(200, 'dead');
  loop.start();
  await loop.clock.advance(MINUTE);
  const { now } = loop.clock;
  loop.clock.now = () => now() - 10 * HOUR;
  await loop.clock.advance(6 * MINUTE);
  expect(loop.budget.checkCostMs).toBeGreaterThan(FIRST);
});

test('while all places are taken the price is that of the checks that were made', async () => {
  const loop = await open({ perHour: 360_000, concurrency: 2 });
  await loop.due(200, 'dead', 1, 2);
  loop.network.before = () => loop.clock.sleep(90_000);
  loop.start();
  await loop.clock.advance(MINUTE);
  expect(loop.network.asked).toHaveLength(2);
  await loop.clock.advance(4 * MINUTE + 1_000);
  expect(loop.network.asked.length).toBeLessThan(10);
  expect(loop.budget.checkCostMs).toBeGreaterThan(FIRST);
});

test('proxies that lacked their kind of judge are tried again in five minutes, unless there is no judge at all', async () => {
  const loop = await open();
  await loop.due(1, 'alive');
  const only = async () =>
    (await loop.store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 1 })).items[0];
  const before = await only();
  loop.network.check = async () => ({ verdict: 'unknown', error: 'judge_down' });
  loop.start();
  await loop.clock.advance(1_000);
  const after = await only();
  expect(after).toMatchObject({ lastChecked: before?.lastChecked, status: 'alive' });
  expect((after?.nextCheck ?? 0) - loop.clock.now()).toBe(5 * MINUTE);

  const dark = await open();
  const [url = ''] = await dark.due(1, 'alive');
  dark.network.before = async () => {
    dark.network.judge = 'down';
  };
  dark.start();
  await dark.clock.advance(3_000);
  expect(dark.network.asked).toEqual([url]);
  const [record] = await dark.store.due(dark.clock.now(), 9, 'alive');
  expect(record && formatUrl(record)).toBe(url);
});

test('while no judge answers they are asked after 5, 10, 20, 40, 60 and 60 seconds, and that is said once', async () => {
  const loop = await open();
  const living = await loop.due(3, 'alive');
  loop.network.judge = 'down';
  const asked: number[] = [];
  const since = loop.clock.now();
  loop.network.probe = async () => {
    asked.push((loop.clock.now() - since) / 1000);
    return judgeState(loop.network.judge);
  };
  loop.start();
  await loop.clock.advance(200_000);
  expect(asked).toEqual([0, 5, 15, 35, 75, 135, 195]);
  expect(loop.logged).toEqual(['no judge responds: proxies are not rechecked until one does']);
  expect(loop.network.asked).toEqual([]);
  loop.network.judge = 'up';
  await loop.clock.advance(60_000);
  expect(loop.network.asked).toEqual(living);
});

test('what was checked is saved when the loop has ended, and the loop ends after its checks', async () => {
  const loop = await open();
  const [url = ''] = await loop.due(1, 'alive');
  const order: string[] = [];
  loop.start();
  await loop.clock.advance(1_000);
  expect(loop.network.asked).toEqual([url]);
  // The outcome has waited for less than a second.
  loop.stopping.abort();
  await loop.done();
  const [record] = (await loop.store.lookup([{ protocol: 'http', ip: '192.0.1.1', port: 80 }])) as [
    ProxyRecord,
  ];
  expect(record.status).toBe('dead');

  const slow = await open();
  await slow.due(1, 'alive');
  slow.network.before = async () => {
    await slow.clock.sleep(5_000);
    order.push('check');
  };
  slow.start();
  await slow.clock.advance(1_000);
  slow.stopping.abort();
  const ended = slow.done().then(() => order.push('loop'));
  await slow.clock.advance(10_000);
  await ended;
  expect(order).toEqual(['check', 'loop']);
});

test('while a judge answers nobody asks it for the rechecks', async () => {
  const loop = await open();
  await loop.due(3, 'dead');
  let probes = 0;
  loop.network.probe = async () => {
    probes++;
    return judgeState('up');
  };
  loop.start();
  await loop.clock.advance(10_000);
  expect([probes, loop.network.asked.length]).toEqual([0, 3]);
});

test('what others have spent is paid back before the next check', async () => {
  const loop = await open({ perHour: 3600 });
  await loop.due(10, 'dead');
  loop.budget.rechecks.spend(20);
  loop.start();
  await loop.clock.advance(20_000);
  expect(loop.network.asked).toEqual([]);
  await loop.clock.advance(2_000);
  expect(loop.network.asked).toHaveLength(2);
});

test('a copy that has not the right waits without a word, and asks again in ten seconds', async () => {
  const locks = createLocalLocks();
  const lease = await locks.acquire('recheck', 1000);
  const loop = await open({ locks });
  const [url = ''] = await loop.due(1, 'dead');
  loop.start();
  await loop.clock.advance(25_000);
  expect([loop.network.asked, loop.logged, loop.budget.isRechecking]).toEqual([[], [], false]);
  await lease?.release();
  await loop.clock.advance(6_000);
  expect(loop.network.asked).toEqual([url]);
});

test('nothing is checked twice at a time; what ends after the stop is not written down, and the stop waits for it', async () => {
  const loop = await open();
  await loop.due(1, 'alive');
  let ended = false;
  loop.network.before = async () => {
    await loop.clock.sleep(20_000);
    ended = true;
  };
  loop.start();
  await loop.clock.advance(5_000);
  expect(loop.network.asked).toHaveLength(1);
  expect(loop.budget.isRechecking).toBe(true);
  await loop.stop();
  expect([ended, loop.budget.isRechecking]).toEqual([true, false]);
  const [record] = (await loop.store.lookup([{ protocol: 'http', ip: '192.0.1.1', port: 80 }])) as [
    ProxyRecord,
  ];
  expect(record).toMatchObject({ status: 'alive', checks: 1 });
  expect(loop.logged).toEqual([]);
});
