import { afterEach, describe, expect, test } from 'bun:test';
import { inTurnsByHost } from '../../src/proxy/refresh/polite.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createPool, draft, type Lists } from '../support/pool/pool.ts';

const MINUTE = 60_000;
type Pool = Awaited<ReturnType<typeof createPool>>;
let pool: Pool;
afterEach(() => pool.close());

const away = () => new Error('could not be reached');
const one = (last: number) => [`socks5://192.0.2.${last}:80`];

async function open(lists: Lists, options: Parameters<typeof createPool>[1] = {}) {
  pool = await createPool(lists, { refreshOnStart: false, ...options });
  for (let last = 1; last < 10; last++) pool.network.working.add(`socks5://192.0.2.${last}:80`);
}

/** What the lists are like from now on. */
function become(lists: Lists, changed: Lists): void {
  Object.assign(lists, changed);
}

describe('when our own network is down', () => {
  test('the refresh fails, is retried after 1, 2 and 5 minutes, and pauses no list', async () => {
    await open({ a: away(), b: away(), c: away() });
    pool.network.judge = 'down';
    const waits: number[] = [];
    for (let attempt = 0; attempt < 5; attempt++) {
      const { state, error, retryAt, finishedAt, sources } = await pool.refresh();
      expect([state, error]).toEqual(['failed', 'network_down']);
      expect(sources.map(({ pausedUntil }) => pausedUntil)).toEqual([null, null, null]);
      waits.push(((retryAt ?? 0) - (finishedAt ?? 0)) / MINUTE);
    }
    expect(waits).toEqual([1, 2, 5, 5, 5]);
  });

  test('no proxy is demoted, and the next refresh restores the pool', async () => {
    const lists: Lists = { a: one(1), b: one(2), c: one(3) };
    await open(lists);
    expect(await pool.refresh()).toMatchObject({ state: 'done', alive: 3, failures: 0, retryAt: null });
    pool.network.judge = 'down';
    become(lists, { a: away(), b: away(), c: away() });
    for (let attempt = 0; attempt < 12; attempt++) {
      expect(await pool.refresh({ all: false })).toMatchObject({ error: 'network_down' });
      await pool.clock.advance(5 * MINUTE);
    }
    expect(await pool.service.stats()).toMatchObject({ alive: 3 });
    pool.network.judge = 'up';
    become(lists, { a: [...one(1), ...one(4)], b: one(2), c: one(3) });
    expect(await pool.refresh({ all: false })).toMatchObject({ state: 'done', alive: 4, failures: 0 });
  });
});

describe('when lists are unreachable, but judges respond', () => {
  test('and most were fine before, none is paused, and known proxies are checked', async () => {
    const lists: Lists = { a: one(1), b: one(2), c: one(3) };
    await open(lists);
    await pool.refresh();
    become(lists, { a: away(), b: away() });
    for (let attempt = 0; attempt < 3; attempt++) {
      const job = await pool.refresh();
      expect(job).toMatchObject({ state: 'failed', error: 'network_down', checked: 3 });
      expect(job.sources.map(({ pausedUntil }) => pausedUntil)).toEqual([null, null, null]);
    }
  });

  test('and none was ever read, each list counts as failed, and known proxies are checked', async () => {
    await open({ a: away(), b: away(), c: away() });
    await pool.store.save([draft('socks5://192.0.2.1:80', pool.clock.now())]);
    const failed = { state: 'failed', error: 'lists_failing', checked: 1, alive: 1 };
    expect(await pool.refresh()).toMatchObject(failed);
    const { sources } = await pool.refresh();
    expect(sources.every(({ pausedUntil }) => pausedUntil !== null)).toBe(true);
  });
});

test('a refresh in which a single list was read has not failed', async () => {
  await open({ a: away(), b: one(1), c: away() });
  expect(await pool.refresh()).toMatchObject({ state: 'done', alive: 1 });
});

test.each([0, 5])(
  'a host of which three lists end early, after %d entries, is not asked for more',
  async (cause) => {
    const cut = new Error('could not be reached', { cause });
    const gone = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, cut]));
    await open(gone);
    const { sources } = await pool.refresh();
    const asked = sources.filter(({ error }) => error === 'could not be reached');
    expect(asked.length).toBe(3);
  },
);

test('lists of one host are read one after the other with a pause, and those of other hosts in parallel', async () => {
  await open({});
  const clock = createFakeClock();
  const running = new Map<string, number>();
  const starts: number[] = [];
  let most = 0;
  const done = inTurnsByHost(['a1', 'a2', 'a3', 'b1', 'b2'], {
    hostOf: ([host = '']) => host,
    async work([host = '']) {
      running.set(host, (running.get(host) ?? 0) + 1);
      expect(running.get(host)).toBe(1);
      most = Math.max(
        most,
        [...running.values()].reduce((a, b) => a + b),
      );
      if (host === 'a') starts.push(clock.now());
      await clock.sleep(1000);
      running.set(host, 0);
    },
    clock,
    random: () => 0.5,
    signal: new AbortController().signal,
  });
  await clock.advance(10_000);
  await done;
  expect(most).toBe(2);
  expect(starts.map((at) => at - (starts[0] ?? 0))).toEqual([0, 1150, 2300]);
});
