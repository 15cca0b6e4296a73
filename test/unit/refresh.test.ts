import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import { breathe } from '../../src/lib/schedule.ts';
import { keyOf } from '../../src/proxy/discovery/key.ts';
import { createPass } from '../../src/proxy/discovery/pass.ts';
import { createLogins } from '../../src/proxy/pool/logins.ts';
import { createCandidates } from '../../src/proxy/refresh/candidates.ts';
import { createPool, draft, type Lists, undecided } from '../support/pool/pool.ts';

type Pool = Awaited<ReturnType<typeof createPool>>;
let pool: Pool;
const open = async (...args: Parameters<typeof createPool>) => {
  pool = await createPool(...args);
  return pool;
};
afterEach(() => pool.close());

const list = (count: number, network: string) =>
  Array.from({ length: count }, (_, index) => `http://${network}.${index + 1}:80`);

describe('a refresh', () => {
  test('saves working proxies as alive and the rest as dead', async () => {
    await open({ a: ['http://192.0.2.1:80', 'socks5://192.0.2.2:1080'] });
    pool.network.working.add('socks5://192.0.2.2:1080');
    const job = await pool.refresh();
    expect(job).toMatchObject({ state: 'done', fetched: 2, checked: 2, alive: 1 });
    const { items } = await pool.store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 10 });
    expect(items.map(({ protocol, status, country, source }) => [protocol, status, country, source])).toEqual(
      [
        ['socks5', 'alive', 'DE', 'a'],
        ['http', 'dead', 'ZZ', 'a'],
      ],
    );
  });

  test('checks an endpoint once, however many lists name it', async () => {
    await open({ a: list(3, '192.0.2'), b: [...list(3, '192.0.2'), ...list(3, '192.0.2')] });
    const job = await pool.refresh();
    expect(job).toMatchObject({ fetched: 9, candidates: 3, checked: 3 });
    expect(pool.network.asked.length).toBe(3);
  });

  test.each([3000, 200_000])(
    'does not scan an address with thousands of ports: a pool of %d',
    async (maxPool) => {
      const ports = Array.from({ length: 6000 }, (_, index) => `http://192.0.2.1:${10_000 + index}`);
      await open(
        { many: ports.slice(0, 3000), more: ports.slice(3000), few: list(9, '192.0.2') },
        { maxPool },
      );
      for (const _ of [1, 2]) await pool.refresh();
      expect(new Set(pool.network.asked.filter((url) => ports.includes(url))).size).toBe(1000);
      expect(pool.network.asked).toContain('http://192.0.2.9:80');
    },
  );

  test('continues when a list fails, and names it', async () => {
    await open({ broken: new Error('HTTP 503'), good: list(2, '192.0.2') });
    const job = await pool.refresh();
    expect(job).toMatchObject({ state: 'done', checked: 2 });
    expect(job.sources).toMatchObject([
      { name: 'broken', state: 'failed', error: 'HTTP 503' },
      { name: 'good', state: 'done', found: 2, fresh: 2, checked: 2 },
    ]);
  });

  test('checks known good proxies first, then new ones, then dead ones, those that are due before the rest', async () => {
    await open({ a: ['http://192.0.2.3:80'] }, { concurrency: 1 });
    const now = pool.clock.now() - 3_600_000;
    await pool.store.save([
      draft('http://192.0.2.1:80', now, { status: 'dead', run: -3, lastAlive: null }),
      draft('http://192.0.2.2:80', now),
      draft('http://192.0.2.4:80', now, { status: 'dead', nextCheck: now + 86_400_000 }),
    ]);
    await pool.refresh();
    expect(pool.network.asked).toEqual([2, 3, 1, 4].map((host) => `http://192.0.2.${host}:80`));
  });

  test('checks one that was reported since its last check whatever it has delivered before, as rechecks do', async () => {
    await open({ a: [] }, { concurrency: 1 });
    const at = pool.clock.now() - 3_600_000;
    const reports = JSON.stringify([{ at: at + 1, ok: false, error: 'page' }]);
    await pool.store.save([draft('http://192.0.2.1:80', at, { reports }), draft('http://192.0.2.2:80', at)]);
    const asked = spyOn(pool.network, 'check');
    await pool.refresh();
    expect(asked.mock.calls.map(([{ ip }, , afresh]) => [ip, afresh])).toEqual([
      ['192.0.2.1', true],
      ['192.0.2.2', false],
    ]);
  });

  test('on schedule skips what was just checked and dead proxies that are not due', async () => {
    await open({ a: ['http://192.0.2.4:80'] });
    const now = pool.clock.now();
    await pool.store.save([
      draft('http://192.0.2.1:80', now - 1000),
      draft('http://192.0.2.2:80', now - 3_600_000, { status: 'dead', nextCheck: now + 1000 }),
      draft('http://192.0.2.3:80', now - 3_600_000),
    ]);
    await pool.service.refresh({ all: false });
    await pool.ended();
    expect(pool.network.asked).toEqual(['http://192.0.2.3:80', 'http://192.0.2.4:80']);
  });

  test('checks entries of lists that have proved useful first', async () => {
    const lists: Lists = { poor: list(20, '192.0.2'), rich: list(20, '198.51.100') };
    await open(lists, { concurrency: 1 });
    const health = { found: 0, fresh: 0, alive: 0, checked: 0, failures: 0, barren: 0, lastError: null };
    await pool.state.set(
      'proxy:sources',
      JSON.stringify([
        { ...health, name: 'poor', yield: 0.01, lastRead: 0, skipUntil: 0 },
        { ...health, name: 'rich', yield: 0.4, lastRead: 0, skipUntil: 0 },
      ]),
    );
    await pool.refresh();
    expect(pool.network.asked.slice(0, 20).every((url) => url.includes('198.51.100'))).toBe(true);
    expect(pool.network.asked.length).toBe(40);
  });

  test('on schedule skips a list that keeps failing, longer each time, and shows until when', async () => {
    await open({ good: list(2, '192.0.2'), gone: new Error('the server answers 404') });
    const gone = async () => (await pool.refresh({ all: false })).sources[1];
    expect(await gone()).toMatchObject({ state: 'failed', pausedUntil: null });
    const failed = await gone();
    expect(failed).toMatchObject({ state: 'failed', error: 'the server answers 404' });
    const pauseMs = (failed?.pausedUntil ?? 0) - pool.clock.now();
    expect(pauseMs).toBeGreaterThan(3_600_000);
    expect(await gone()).toMatchObject({ state: 'paused', pausedUntil: failed?.pausedUntil });
    await pool.clock.advance(pauseMs + 1);
    const again = await gone();
    expect(again?.state).toBe('failed');
    expect((again?.pausedUntil ?? 0) - pool.clock.now()).toBeGreaterThan(pauseMs * 1.5);
    expect((await pool.refresh()).sources[1]?.state).toBe('failed');
  });

  test('keeps forbidden addresses out of the pool', async () => {
    await open({ a: ['http://192.0.2.1:80', 'http://192.0.2.2:80'] });
    const { check } = pool.network;
    pool.network.check = async (endpoint) =>
      endpoint.ip === '192.0.2.2' ? { verdict: 'dead', error: 'refused_address' } : check(endpoint);
    expect(await pool.refresh()).toMatchObject({ state: 'done', checked: 2 });
    const { items } = await pool.store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 9 });
    expect(items.map(({ ip }) => ip)).toEqual(['192.0.2.1']);
  });

  test('stops checking when its budget is used up, and leaves the rest to the next one', async () => {
    await open({ a: list(100, '192.0.2') }, { concurrency: 10, refreshBudgetMs: 5000 });
    pool.network.before = () => pool.clock.sleep(1000);
    const first = await pool.refresh();
    expect(first).toMatchObject({ state: 'done', candidates: 100, checked: 50, skipped: 50 });
    const second = await pool.refresh();
    expect(second).toMatchObject({ state: 'done', checked: 50 });
    expect(new Set(pool.network.asked).size).toBe(100);
  });

  test('stops checking in time, although the clock is set back meanwhile', async () => {
    await open({ a: list(100, '192.0.2') }, { concurrency: 10, refreshBudgetMs: 5000 });
    const { now } = pool.clock;
    pool.network.before = () => pool.clock.sleep(1000);
    await pool.service.refresh();
    await pool.clock.advance(1500);
    pool.clock.now = () => now() - 3_600_000;
    const { state, checked } = await pool.ended();
    expect([state, checked < 50]).toEqual(['done', true]);
  });

  test('shows results while it is still checking', async () => {
    await open({ a: list(100, '192.0.2') });
    pool.network.before = () => pool.clock.sleep(1000);
    await pool.service.refresh();
    await pool.clock.advance(6000);
    expect((await pool.service.currentRefresh()).stage).toBe('verify');
    expect((await pool.service.stats()).total).toBeGreaterThan(10);
    await pool.ended();
  });

  test('demotes no proxy while the judge is down, and blames no list', async () => {
    await open({ a: list(400, '192.0.2').slice(0, 200) });
    await pool.store.save([draft('http://192.0.2.1:80', pool.clock.now() - 3_600_000)]);
    pool.network.judge = 'down';
    const job = await pool.refresh();
    expect(job).toMatchObject({ state: 'failed', error: 'judge_down', judge: 'down', checked: 0 });
    expect(pool.network.asked).toEqual([]);
    expect(await pool.service.stats()).toMatchObject({ alive: 1, total: 1 });
    expect((await pool.service.status()).lastRefresh).toBeNull();
    expect(JSON.parse((await pool.state.get('proxy:sources')) ?? '')).toMatchObject([
      { checked: 0, barren: 0 },
    ]);
  });

  test('ends early when the judge goes down', async () => {
    await open({ a: list(100, '192.0.2') }, { concurrency: 5 });
    pool.network.before = async () => {
      if (pool.network.asked.length > 20) pool.network.judge = 'down';
    };
    const job = await pool.refresh();
    expect(job).toMatchObject({ state: 'failed', error: 'judge_down', checked: 20 });
    expect(job.skipped).toBeGreaterThan(70);
    expect((await pool.service.stats()).total).toBe(20);
  });

  test('removes what has been dead for too long, and what exceeds the pool', async () => {
    await open({ a: list(5, '192.0.2') }, { maxPool: 4 });
    for (const url of list(5, '192.0.2')) pool.network.working.add(url);
    const longAgo = pool.clock.now() - 8 * 86_400_000;
    const old = { status: 'dead', lastAlive: longAgo, firstSeen: longAgo } as const;
    await pool.store.save([
      draft('http://198.51.100.1:80', pool.clock.now(), { ...old, nextCheck: Number.MAX_SAFE_INTEGER }),
    ]);
    const job = await pool.refresh();
    expect(job.removed).toBe(2);
    expect((await pool.service.stats()).total).toBe(4);
  });

  test('keeps to the budget of checks, unless the administrator starts it', async () => {
    const entries = Array.from({ length: 3000 }, (_, n) => `http://198.18.${n >> 8}.${n & 255}:80`);
    const perHour = 1200;
    await open(
      { a: entries },
      { checksPerHour: perHour, refreshOnStart: false, concurrency: 1000, turns: 2 },
    );
    // As many run at once as may.
    pool.network.before = async () => {
      for (let turn = 0; turn < 40; turn++) await breathe();
    };
    const known = Array.from({ length: 600 }, (_, n) => `http://192.0.${n >> 8}.${n & 255}:80`);
    for (const url of known) pool.network.working.add(url);
    const later = pool.clock.now() + 3_600_000;
    await pool.store.save(known.map((url) => draft(url, pool.clock.now(), { nextCheck: later })));
    const spent: number[] = [];
    for (let hour = 0; hour < 4; hour++) {
      for (let time = 0; time < 5; time++) {
        await pool.service.refreshUnlessFresh();
        await pool.ended();
        await pool.clock.advance(12 * 60_000);
      }
      spent.push(pool.network.asked.length);
    }
    const [first = 0, , , last = 0] = spent;
    expect(first).toBeGreaterThan(perHour / 2);
    expect(first).toBeLessThan(1.1 * perHour);
    expect(last - first).toBeLessThan(3 * perHour);
    // What is spent on those that work is not spent on the same ones each time.
    expect(known.filter((url) => !pool.network.asked.includes(url))).toEqual([]);
    const job = await pool.refresh();
    expect(job.checked).toBeGreaterThan(2000);
  });

  test('passes over those that no judge can decide, and does not leave out what a clock that was ahead has checked', async () => {
    await open({}, { checksPerHour: 600, refreshOnStart: false });
    const { check, working } = pool.network;
    pool.network.check = async (endpoint, signal) =>
      endpoint.protocol === 'https' ? undecided : check(endpoint, signal);
    const now = pool.clock.now();
    const saved = [
      ['https', 1, now - 3_600_000],
      ['http', 2, now],
      ['http', 3, Math.max(now, Date.now()) + 86_400_000],
    ] as const;
    for (const [protocol, network, lastChecked] of saved) {
      const urls = Array.from({ length: 100 }, (_, n) => `${protocol}://192.0.${network}.${n}:80`);
      for (const url of urls) working.add(url);
      await pool.store.save(urls.map((url) => draft(url, lastChecked, { nextCheck: now + 86_400_000 })));
    }
    for (let time = 0; time < 5; time++) {
      await pool.service.refreshUnlessFresh();
      await pool.ended();
      await pool.clock.advance(10 * 60_000);
    }
    expect(new Set(pool.network.asked).size).toBe(200);
  });

  test('is joined by a second call, not run twice', async () => {
    await open({ a: list(10, '192.0.2') });
    pool.network.before = () => pool.clock.sleep(500);
    const [first, second] = await Promise.all([pool.service.refresh(), pool.service.refresh()]);
    expect(second.id).toBe(first.id);
    await pool.ended();
    expect(pool.network.asked.length).toBe(10);
  });

  test('that runs in another copy is joined as well', async () => {
    await open({ a: list(10, '192.0.2') });
    await pool.locks.acquire('refresh', 1000);
    const elsewhere = { id: 'elsewhere', state: 'running', updatedAt: pool.clock.now() };
    await pool.state.set('proxy:refresh', JSON.stringify(elsewhere));
    expect(await pool.service.refresh()).toMatchObject({ id: 'elsewhere', state: 'running' });
    expect(pool.network.asked).toEqual([]);
  });

  test('that is stopped ends at once and says so', async () => {
    await open({ a: list(100, '192.0.2') });
    pool.network.before = () => new Promise((resolve) => setTimeout(resolve, 1));
    await pool.service.refresh();
    await pool.service.stop();
    const job = JSON.parse((await pool.state.get('proxy:refresh')) ?? '');
    expect(job).toMatchObject({ state: 'failed', error: 'stopped' });
  });
});

test('one server that answers on all its ports takes neither the pool nor the checks from others', async () => {
  const wide = Array.from({ length: 4000 }, (_, index) => `socks5://203.0.113.7:${1000 + index}`);
  const others = Array.from({ length: 100 }, (_, index) => `socks5://192.0.${index}.1:80`);
  await open({ wide, others }, { maxPool: 200, checksPerHour: 1000, refreshOnStart: false });
  for (const url of [...wide, ...others]) pool.network.working.add(url);
  for (let times = 0; times < 2; times++) await pool.refresh();
  const { items } = await pool.store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 1000 });
  const [own, rest] = ['203.0.113.', '192.0.'].map((start) => items.filter(({ ip }) => ip.startsWith(start)));
  expect(own?.length).toBeLessThan(16 + pool.options.concurrency);
  expect(rest?.length).toBe(100);
});

test('an own list has all its ports, and its login makes due what a public list names and was tried', async () => {
  await open();
  const pass = createPass(pool.state, Math.random, 0);
  const candidates = createCandidates(pass, createLogins(), 1);
  const add = (port: number, login: string | null) =>
    candidates.add(0, 'http', '192.0.2.1', port, { country: null, login, isOwn: login !== null });
  const tried = keyOf('http', '192.0.2.1', 1);
  pass.begin(tried);
  pass.end(tried, 'forgotten');
  expect([add(1, null), add(1, 'a:b'), add(1, 'a:b')]).toEqual([false, true, false]);
  for (let port = 2; port < 1010; port++) add(port, null);
  expect([add(2000, null), add(2000, 'a:b'), candidates.fresh.size]).toEqual([false, true, 1001]);
});

describe('a list of a million entries', () => {
  test('takes less than 300 MB', async () => {
    await open();
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    const candidates = createCandidates(createPass(pool.state, Math.random, 0), createLogins(), 1);
    for (let index = 0; index < 1_000_000; index++) {
      const ip = `${1 + (index % 200)}.${(index >> 4) & 255}.${(index >> 12) & 255}.7`;
      candidates.add(0, 'http', ip, 1 + (index % 60_000), { country: null, login: null });
    }
    expect(candidates.fresh.size).toBeGreaterThan(900_000);
    expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(300);
  }, 180_000);
});
