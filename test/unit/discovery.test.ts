import { afterEach, describe, expect, test } from 'bun:test';
import { outdated } from '../../src/lib/locks.ts';
import { createCheckBudget } from '../../src/proxy/check/check-budget.ts';
import { createDiscovery } from '../../src/proxy/discovery/discovery.ts';
import { createCrowd, keyOf } from '../../src/proxy/discovery/key.ts';
import { createPass } from '../../src/proxy/discovery/pass.ts';
import { createTrials } from '../../src/proxy/discovery/trials.ts';
import { createLogins } from '../../src/proxy/pool/logins.ts';
import { formatUrl } from '../../src/proxy/proxy.ts';
import { createPool, draft, recorderOf, undecided } from '../support/pool/pool.ts';
import { createRandom } from '../support/random.ts';

const HOUR = 3_600_000;
type Pool = Awaited<ReturnType<typeof createPool>>;
let pool: Pool;
afterEach(() => pool.close());

const urls = (count: number, protocol = 'socks5') =>
  Array.from({ length: count }, (_, index) => `${protocol}://192.0.${index >> 8}.${index & 255}:80`);

/** A pool that holds a tenth of what its list names, and never refreshes by itself. */
async function openCrowded(count: number, options: Parameters<typeof createPool>[1] = {}) {
  const list = urls(count);
  const small = { maxPool: count / 10, refreshBudgetMs: 1000, refreshOnStart: false, checksPerHour: 3600 };
  // The timer of refreshes is a real one.
  const never = { refreshIntervalMs: 1000 * HOUR };
  pool = await createPool({ list }, { ...small, ...never, random: createRandom(1), turns: 2, ...options });
  pool.network.before = () => pool.clock.sleep(1000);
  return list;
}

/** Refreshes, and lets the discovery go on until the next hour. */
async function hour(): Promise<void> {
  const begun = pool.clock.now();
  await pool.refresh({ all: false });
  await pool.clock.advance(HOUR - (pool.clock.now() - begun));
}

/** Stops the copy, and starts another one over its stores. The first one must still be closed. */
async function restart(lists: Parameters<typeof createPool>[0]): Promise<Pool> {
  const first = pool;
  const stopped = first.service.stop();
  await first.clock.advance(20_000);
  await stopped;
  const { store, state, locks } = first;
  const never = { maxPool: 6, refreshOnStart: false, checksPerHour: 3600, refreshIntervalMs: 1000 * HOUR };
  pool = await createPool(lists, { ...never, turns: 2, store, state, locks });
  pool.service.start();
  return first;
}

const listed = async () => {
  const { items } = await pool.store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 1000 });
  return items.map(({ ip, status }) => `${ip} ${status}`).sort();
};

describe('when lists have more than the pool holds', () => {
  test('every entry has its turn between refreshes, and what works is found wherever it is', async () => {
    const list = await openCrowded(400);
    for (const index of [3, 390, 399]) pool.network.working.add(list[index] ?? '');
    pool.service.start();
    await hour();
    expect(new Set(pool.network.asked).size).toBe(400);
    expect(await listed()).toEqual(['192.0.0.3 alive', '192.0.1.134 alive', '192.0.1.143 alive']);
  });

  test('nothing is tried twice in a pass', async () => {
    await openCrowded(300);
    pool.service.start();
    await hour();
    await hour();
    expect(pool.network.asked.length).toBe(300);
  });

  test('the order differs from the list', async () => {
    const list = await openCrowded(200, { concurrency: 1, refreshBudgetMs: 60_000 });
    await pool.refresh({ all: false });
    const places = pool.network.asked.map((url) => list.indexOf(url));
    expect(places.length).toBeGreaterThan(40);
    expect(Math.max(...places)).toBeGreaterThan(150);
    expect(places).not.toEqual(places.toSorted((a, b) => a - b));
  });

  test('a failed entry is not stored, and does not count as new again', async () => {
    await openCrowded(100);
    pool.service.start();
    await hour();
    expect(await pool.service.stats()).toMatchObject({ total: 0 });
    const job = await pool.refresh({ all: false });
    expect(job.sources[0]).toMatchObject({ found: 100, fresh: 0, checked: 0 });
  });

  test('all checks of an hour stay within the budget', async () => {
    const list = await openCrowded(5000, { checksPerHour: 1200 });
    for (let index = 0; index < 5000; index += 50) pool.network.working.add(list[index] ?? '');
    pool.service.start();
    await hour();
    for (let later = 0; later < 2; later++) {
      const before = pool.network.asked.length;
      await hour();
      expect(pool.network.asked.length - before).toBeLessThanOrEqual(1200 * 1.05);
      expect(pool.network.asked.length - before).toBeGreaterThan(1200 * 0.8);
    }
  });

  test('while no judge responds nothing loses its turn', async () => {
    await openCrowded(300, { concurrency: 50 });
    pool.service.start();
    await pool.refresh({ all: false });
    await pool.clock.advance(60_000);
    pool.network.judge = 'down';
    await pool.clock.advance(600_000);
    const asked = pool.network.asked.length;
    expect(asked).toBeLessThan(300);
    pool.network.judge = 'up';
    await pool.clock.advance(HOUR);
    expect(new Set(pool.network.asked).size).toBe(300);
  });
});

test('after a restart, what was tried is not tried again, and what comes into a list later is tried at once', async () => {
  const list = await openCrowded(60);
  const refreshed = async () => {
    await pool.refresh({ all: false });
    await pool.clock.advance(HOUR / 30);
  };
  pool.service.start();
  await refreshed();
  expect(pool.network.asked.length).toBe(60);
  const first = await restart({ list });
  await refreshed();
  expect(pool.network.asked.length).toBeLessThan(3);
  list.push(...urls(90).slice(60));
  await refreshed();
  expect(list.slice(60).filter((url) => !pool.network.asked.includes(url))).toEqual([]);
  expect(pool.network.asked.length).toBeLessThan(33);
  await first.close();
});

test('a list that cannot be read after a restart is not tried again when it can be', async () => {
  const list = await openCrowded(60);
  pool.service.start();
  await hour();
  const lists: Record<string, string[] | Error> = {
    list: new Error('HTTP status 502'),
    other: list.slice(0, 1),
  };
  const first = await restart(lists);
  await hour();
  lists.list = list.toReversed();
  lists.other = [];
  await hour();
  expect(pool.network.asked.length).toBeLessThan(3);
  await first.close();
});

test('entries that no judge can decide wait behind those that can be, and come again', async () => {
  const list = await openCrowded(300, { concurrency: 20, refreshBudgetMs: 0 });
  const isUndecided = (url: string) => list.indexOf(url) % 3 === 0;
  const { check } = pool.network;
  let isDown = true;
  pool.network.check = async (endpoint, options) => {
    const result = await check(endpoint, options);
    return isDown && isUndecided(formatUrl(endpoint)) ? undecided : result;
  };
  pool.service.start();
  await pool.refresh({ all: false });
  await pool.clock.advance(HOUR / 6);
  const times = (url: string) => pool.network.asked.filter((asked) => asked === url).length;
  expect(list.filter((url) => times(url) === 0)).toEqual([]);
  expect(Math.max(...list.filter(isUndecided).map(times))).toBeLessThan(4);
  isDown = false;
  pool.network.asked.length = 0;
  await pool.clock.advance(HOUR);
  expect(list.filter(isUndecided).map(times)).toEqual(Array(100).fill(1));
});

test('entries that no judge can decide take no checks from the proxies of the pool', async () => {
  pool = await createPool(
    { list: urls(100) },
    { checksPerHour: 3600, refreshBudgetMs: 0, refreshIntervalMs: 1000 * HOUR, concurrency: 100, turns: 2 },
  );
  const { check } = pool.network;
  pool.network.check = async (endpoint, signal) => {
    const result = await check(endpoint, signal);
    return endpoint.protocol === 'socks5' ? undecided : result;
  };
  const due = urls(2000, 'http').map((url) => draft(url, pool.clock.now() - 2 * HOUR));
  await pool.store.save(due);
  pool.service.start();
  await pool.refresh({ all: false });
  await pool.clock.advance(HOUR / 12);
  pool.network.asked.length = 0;
  await pool.clock.advance(HOUR / 3);
  expect(pool.network.asked.filter((url) => url.startsWith('http:')).length).toBeGreaterThan(1200 * 0.9);
  expect(pool.network.asked.filter((url) => url.startsWith('socks5:')).length).toBeGreaterThanOrEqual(300);
});

test('what a refresh has left is tried although another trial was too late for the one before', async () => {
  pool = await createPool();
  const { clock, network, state } = pool;
  const pass = createPass(state, () => 0.5, clock.now());
  const late = Promise.withResolvers<unknown>();
  const tried: string[] = [];
  const discovery = createDiscovery({
    ...{ checker: network, clock, pass, log: () => {}, concurrency: 10, isLatest: async () => true },
    budget: createCheckBudget(clock, 36_000),
    async tryEntry({ ip }) {
      tried.push(ip);
      return { alive: true, saved: ip === 'early' ? late.promise : Promise.resolve() };
    },
  });
  const stopping = new AbortController();
  const running = discovery.run(stopping.signal);
  const leave = (ip: string) => {
    const entry = { key: 1, kind: 'http', ip, port: 80, source: 0, country: null, isNew: true } as const;
    const queue = { next: () => (tried.includes(ip) ? null : entry), fresh: 1, again: 0, isWhole: false };
    const right = { name: 'refresh', token: 1, lost: stopping.signal };
    const context = { pass, isCrowded: false, isKnown: () => false, crowd: createCrowd(1), right };
    discovery.resume({ jobId: '1', queue, again: 0, context });
  };
  leave('early');
  await clock.advance(2000);
  leave('later');
  late.reject(outdated());
  await clock.advance(3000);
  stopping.abort();
  await running;
  expect(tried).toEqual(['early', 'later']);
});

describe('a pass', () => {
  const keys = Array.from({ length: 1000 }, (_, n) => n * 7919);

  test('continues after a restart where it stopped', async () => {
    pool = await createPool();
    const first = createPass(pool.state, () => 0.3, 0);
    const placed = keys.toSorted((a, b) => first.placeOf(a) - first.placeOf(b));
    const [done = 0, running = 0] = [placed[0], placed[300]];
    first.begin(done);
    first.end(done, 'forgotten');
    first.begin(running);
    first.reached(0.4);
    await first.save();
    const second = createPass(pool.state, () => 0.7, 1);
    await second.catchUp();
    // What was being tried is left to others.
    expect(placed.map((key) => second.noveltyOf(key)).lastIndexOf('tried')).toBe(299);
    first.end(running, 'forgotten');
    await first.save();
    await second.catchUp();
    const tried = keys.filter((key) => second.noveltyOf(key) === 'tried');
    expect(tried.length).toBeGreaterThan(330);
    expect(tried.every((key) => first.placeOf(key) < 0.4)).toBe(true);
  });

  test('leaves to other copies what could not be saved, and is over for the one that has ended it', async () => {
    pool = await createPool();
    const seeds = [0.3, 0.6];
    const first = createPass(pool.state, () => seeds.shift() ?? 0, 1000);
    const [done = 0, lost = 0] = keys.toSorted((a, b) => first.placeOf(a) - first.placeOf(b)).slice(100, 102);
    for (const [key, outcome] of [[done, 'kept'] as const, [lost, 'open'] as const]) {
      first.begin(key);
      first.end(key, outcome);
    }
    first.reached(0.4);
    await first.save();
    expect(first.noveltyOf(lost)).toBe('new');
    const second = createPass(pool.state, () => 0.7, 1001);
    await second.catchUp();
    expect([second.noveltyOf(done), second.noveltyOf(lost)]).toEqual(['tried', 'new']);
    // The clock was set back meanwhile.
    first.turn(500);
    await first.catchUp();
    expect(first.startedAt).toBe(500);
  });

  test('is followed by one in another order', async () => {
    pool = await createPool();
    const pass = createPass(pool.state, createRandom(1), 0);
    for (const key of keys) {
      pass.begin(key);
      pass.end(key, 'forgotten');
    }
    const order = () => keys.toSorted((a, b) => pass.placeOf(a) - pass.placeOf(b));
    const before = order();
    pass.turn(1);
    expect(order()).not.toEqual(before);
    expect(keys.every((key) => pass.noveltyOf(key) === 'again')).toBe(true);
    expect(pass.noveltyOf(5)).toBe('new');
  });

  test('remembers everything it has tried, with almost no false positives', async () => {
    pool = await createPool();
    const pass = createPass(pool.state, () => 0.3, 0);
    for (let key = 0; key < 300_000; key++) {
      pass.begin(key * 5);
      pass.end(key * 5, 'forgotten');
    }
    let mistaken = 0;
    for (let key = 0; key < 300_000; key++) {
      if (pass.noveltyOf(key * 5) !== 'tried') throw new Error(`${key} is forgotten`);
      if (pass.noveltyOf(key * 5 + 1) !== 'new') mistaken++;
    }
    expect(mistaken).toBe(0);
  });
});

describe('an entry', () => {
  const asked = () => pool.network.asked;
  const open = async (lists: Record<string, string[]>) => {
    pool = await createPool(lists, { refreshOnStart: false });
  };

  test('without a protocol is tried with each until one works', async () => {
    await open({ list: ['any://192.0.2.1:80', 'any://192.0.2.2:80'] });
    pool.network.working.add('socks5://192.0.2.1:80');
    await pool.refresh();
    expect(asked().filter((url) => url.includes('192.0.2.1'))).toEqual(
      ['http', 'https', 'socks5'].map((protocol) => `${protocol}://192.0.2.1:80`),
    );
    expect(asked().filter((url) => url.includes('192.0.2.2')).length).toBe(4);
    const { items } = await pool.store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 9 });
    expect(items).toMatchObject([{ protocol: 'socks5', ip: '192.0.2.1', status: 'alive' }]);
  });

  test('that works over http is also listed as https if CONNECT works', async () => {
    await open({ list: ['http://192.0.2.1:80', 'http://192.0.2.2:80', 'http://192.0.2.3:80'] });
    for (const url of ['http://192.0.2.1:80', 'https://192.0.2.1:80', 'http://192.0.2.2:80'])
      pool.network.working.add(url);
    await pool.refresh();
    const items = (await Array.fromAsync(pool.store.stream({ status: 'alive' }))).flat();
    expect(items.map(({ protocol, ip }) => `${protocol} ${ip}`).sort()).toEqual([
      'http 192.0.2.1',
      'http 192.0.2.2',
      'https 192.0.2.1',
    ]);
    expect(asked()).not.toContain('https://192.0.2.3:80');
  });

  test('whose first result cannot be saved while other protocols are tried fails the refresh, not the process', async () => {
    await open({ list: ['any://192.0.2.1:80'] });
    pool.network.before = () => pool.clock.sleep(5000);
    pool.store.lookup = async () => {
      throw new Error('store away');
    };
    expect(await pool.refresh()).toMatchObject({ state: 'failed' });
    expect(asked().length).toBe(4);
  });

  test('whose outcome is dropped, because another copy has taken over, is left to that copy', async () => {
    await open({});
    const { store, clock, network, state } = pool;
    const tryEntry = createTrials({
      checker: network,
      recorder: recorderOf({ store, clock }),
      budget: createCheckBudget(clock, 3600),
      logins: createLogins(),
      sources: [],
    });
    const lease = new AbortController();
    const right = { name: 'refresh', token: 1, lost: lease.signal };
    const pass = createPass(state, () => 0.3, 0);
    const turn = {
      kind: 'socks5',
      ip: '192.0.2.1',
      port: 80,
      source: 0,
      country: null,
      isNew: true,
    } as const;
    const key = keyOf('socks5', turn.ip, turn.port);
    network.working.add('socks5://192.0.2.1:80');
    const context = { pass, isCrowded: false, isKnown: () => false, crowd: createCrowd(1), right };
    const trial = await tryEntry({ ...turn, key }, context, new AbortController().signal);
    pass.reached(1);
    lease.abort();
    await clock.advance(1000);
    await trial?.saved;
    await pass.save();
    const other = createPass(state, () => 0.7, 1);
    await other.catchUp();
    expect(await store.lookup([{ ...turn, protocol: 'socks5' }])).toEqual([]);
    expect(other.noveltyOf(key)).toBe('new');
  });
});
