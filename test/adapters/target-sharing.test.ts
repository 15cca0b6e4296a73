import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { openRedis } from '../../adapters/redis/connection.ts';
import { createRedisLocks } from '../../adapters/redis/locks.ts';
import { createRedisState } from '../../adapters/redis/state.ts';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import type { Locks } from '../../src/lib/locks.ts';
import type { StateStore } from '../../src/lib/state.ts';
import { createSharedSites } from '../../src/proxy/targets/shared-sites.ts';
import { createSites, MOST_SITES } from '../../src/proxy/targets/sites.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { shared } from '../support/shared.ts';
import { PATIENT_MS, withPrefix } from '../support/stores/redis.ts';
import { sharedRedis } from '../support/stores/services.ts';

/** Where the copies of a server meet. */
interface Meeting {
  state: StateStore;
  locks: Locks;
  close(): Promise<void> | void;
}

const redis = shared(sharedRedis);

async function meetOnSqlite(): Promise<Meeting> {
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  return { state: createSqliteState(database), locks: createLocalLocks(), close: () => database.close() };
}

async function meetOnRedis(): Promise<Meeting> {
  const connection = await openRedis(withPrefix(redis.url), PATIENT_MS);
  return {
    state: createRedisState(connection),
    locks: createRedisLocks(connection),
    close: () => connection.close(),
  };
}

describe.each([
  ['SQLite', meetOnSqlite],
  ['Redis', meetOnRedis],
] as const)('what is known of sites, shared over %s', (_, meet) => {
  let meeting: Meeting;
  let now = 0;
  beforeEach(async () => {
    meeting = await meet();
    now = 0;
  });
  afterEach(() => meeting.close());

  /** A copy of the server. */
  function createCopy(kept: readonly string[] = []) {
    const sites = createSites({ random: Math.random, shared: true });
    const isKept = (site: string) => kept.includes(site);
    const exchange = createSharedSites({ ...meeting, sites, isKept, now: () => ++now });
    const pair = (site: string, proxy: string) => sites.facts(site)?.pairs.get(proxy);
    return { sites, exchange, pair };
  }

  test('what one copy learns is known to the others after an exchange, even to those that start later', async () => {
    const [one, two] = [createCopy(), createCopy()];
    one.sites.observe('a.example', 'p', true);
    two.sites.observe('a.example', 'p', false);
    two.sites.observe('b.example', 'q', true);
    await one.exchange();
    await two.exchange();
    await one.exchange();
    const late = createCopy();
    await late.exchange();
    for (const { pair } of [one, two, late]) {
      expect(pair('a.example', 'p')).toEqual({ good: 0.95, bad: 1 });
      expect(pair('b.example', 'q')).toEqual({ good: 1, bad: 0 });
    }
  });

  test('what a copy learns before it knows what others do is shared, however much that is', async () => {
    const [one, late] = [createCopy(), createCopy()];
    for (let index = 0; index < MOST_SITES; index++) one.sites.observe(`site${index}.example`, 'p', true);
    while (one.sites.hasNews) await one.exchange();
    late.sites.observe('own.example', 'q', true);
    await late.exchange();
    await one.exchange();
    for (const { pair } of [one, late]) expect(pair('own.example', 'q')).toEqual({ good: 1, bad: 0 });
  });

  test('nothing counts twice in repeated exchanges', async () => {
    const [one, two] = [createCopy(), createCopy()];
    for (let round = 0; round < 3; round++) {
      one.sites.observe('a.example', 'p', true);
      await one.exchange();
      await two.exchange();
      await one.exchange();
      await two.exchange();
    }
    const { good = 0 } = two.pair('a.example', 'p') ?? {};
    expect(good).toBeCloseTo(1 + 0.95 + 0.95 ** 2, 2);
    expect(one.pair('a.example', 'p')?.good).toBeCloseTo(good, 2);
  });

  test('a copy that dies between a slot and the index gives no site the results of another', async () => {
    const one = createCopy();
    for (let n = 0; n < MOST_SITES; n++) one.sites.observe(`${n}.example`, 'p', true);
    while (one.sites.hasNews) await one.exchange();
    const { state } = meeting;
    meeting.state = {
      ...state,
      setFenced: (key, value, token) =>
        key.endsWith(':index') ? Promise.reject(new Error('died')) : state.setFenced(key, value, token),
    };
    const dying = createCopy();
    await dying.exchange();
    dying.sites.observe('new.example', 'q', false);
    expect(await dying.exchange().catch(String)).toBe('Error: died');
    meeting.state = state;
    const late = createCopy();
    await late.exchange();
    const wrong = Array.from({ length: MOST_SITES }, (_, n) => late.pair(`${n}.example`, 'q'));
    expect(wrong.filter(Boolean)).toEqual([]);
    one.sites.observe('0.example', 'r', true);
    await one.exchange();
    await late.exchange();
    expect(late.pair('0.example', 'r')).toEqual({ good: 1, bad: 0 });
  });

  test('results observed during a write are shared the next time', async () => {
    const [one, two] = [createCopy(), createCopy()];
    one.sites.observe('a.example', 'p', true);
    const running = one.exchange();
    one.sites.observe('a.example', 'q', false);
    await running;
    one.sites.observe('a.example', 'q', false);
    await one.exchange();
    await two.exchange();
    expect(two.pair('a.example', 'q')?.bad).toBeCloseTo(1.95, 2);
  });

  test('results wait while another copy writes, and while the store fails', async () => {
    const [one, two] = [createCopy(), createCopy()];
    one.sites.observe('a.example', 'p', true);
    const lease = await meeting.locks.acquire('targets', 10_000);
    await one.exchange();
    await lease?.release();
    const { setFenced } = meeting.state;
    meeting.state.setFenced = async () => {
      throw new Error('out of order');
    };
    await expect(one.exchange()).rejects.toThrow('out of order');
    meeting.state.setFenced = setFenced;
    await one.exchange();
    await two.exchange();
    expect(two.pair('a.example', 'p')).toEqual({ good: 1, bad: 0 });
  });

  test('results are shared the next time if another copy has taken over before the last write', async () => {
    const [one, two, late] = [createCopy(), createCopy(), createCopy()];
    one.sites.observe('a.example', 'p', true);
    const { setFenced } = meeting.state;
    meeting.state.setFenced = async (key, value, token) =>
      key !== 'targets:index' && setFenced(key, value, token);
    await expect(one.exchange()).rejects.toThrow('another copy');
    meeting.state.setFenced = setFenced;
    two.sites.observe('a.example', 'q', true);
    await two.exchange();
    await one.exchange();
    for (const copy of [one, two, late]) await copy.exchange();
    for (const { pair } of [one, two, late]) {
      expect(pair('a.example', 'p')).toEqual({ good: 1, bad: 0 });
      expect(pair('a.example', 'q')).toEqual({ good: 1, bad: 0 });
    }
  });

  test('the store has as many sites as a copy; the longest unvisited are dropped, except those of the operator', async () => {
    const one = createCopy(['0.example']);
    for (let n = 0; n < 700; n++) {
      one.sites.observe(`${n}.example`, 'p', true);
      if (n % 50 === 49) await one.exchange();
    }
    const keys = (await meeting.state.keys()).filter((key) => /^targets:\d+$/.test(key));
    expect(keys).toHaveLength(500);
    const late = createCopy();
    await late.exchange();
    expect(late.sites.names().length).toBe(500);
    expect(late.sites.knows('0.example')).toBe(true);
    expect(late.sites.knows('1.example')).toBe(false);
    expect(late.sites.knows('699.example')).toBe(true);
  });
});
