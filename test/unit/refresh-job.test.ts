import { afterEach, expect, test } from 'bun:test';
import { AppError, inEnglish } from '../../src/errors.ts';
import type { RefreshJob } from '../../src/proxy/refresh/progress.ts';
import type { RefreshObserver } from '../../src/proxy/refresh/run.ts';
import type { ProxyServiceOptions } from '../../src/proxy/service.ts';
import { createPool, draft, type Lists } from '../support/pool/pool.ts';

const MINUTE = 60_000;
let pool: Awaited<ReturnType<typeof createPool>>;
afterEach(() => pool.close());

/** What was heard of refreshes, and what was logged. */
async function open(lists: Lists, options: Partial<ProxyServiceOptions> = {}) {
  const heard: string[] = [];
  const logged: string[] = [];
  const observer: RefreshObserver = {
    stageEnded: (stage, ms) => heard.push(`${stage} ${ms} ms`),
    ended: ({ state, error }) => heard.push(`ended ${state} ${error}`),
    settled: ({ id, state }) => heard.push(`settled ${id} ${state}`),
  };
  pool = await createPool(lists, {
    observers: [observer],
    log: (level, message) => void logged.push(`${level} ${message}`),
    ...options,
  });
  return { heard, logged };
}

const saved = async () => JSON.parse((await pool.state.get('proxy:refresh')) ?? 'null') as RefreshJob;
const save = (job: Partial<RefreshJob>) => pool.state.set('proxy:refresh', JSON.stringify(job));
const one = ['socks5://192.0.2.1:80'];

test('observers hear of each stage with its time, of the end, and once that it is settled', async () => {
  const { heard, logged } = await open({ a: one });
  pool.network.before = () => pool.clock.sleep(400);
  const { id } = await pool.refresh();
  expect(heard[0]).toMatch(/^fetch 0 ms$/);
  expect(Number(/^verify (\d+) ms$/.exec(heard[1] ?? '')?.[1])).toBeGreaterThanOrEqual(400);
  expect(heard.slice(2).map((text) => text.replace(/ \d+ ms$/, ''))).toEqual([
    'store',
    'cleanup',
    'ended done null',
    `settled ${id} done`,
  ]);
  expect(logged).toEqual(['info refresh started', 'info refresh ended']);
});

test('an unreachable store interrupts it, and it is due again at once; any other fault is internal', async () => {
  const broken = await createPool();
  const fail = (error: Error) => ({ ...broken.store, stream: () => raise(error) });
  const first = await open({ a: one }, { store: fail(new AppError('unavailable', inEnglish('away'))) });
  const interrupted = await pool.refresh();
  expect(interrupted).toMatchObject({ state: 'failed', error: 'interrupted', failures: 1 });
  expect(interrupted.retryAt).toBe(interrupted.finishedAt);
  expect(first.logged).toEqual(['info refresh started', 'warn refresh ended']);
  await pool.close();
  const second = await open({ a: one }, { store: fail(new Error('a mistake')) });
  const internal = await pool.refresh();
  expect(internal).toMatchObject({ state: 'failed', error: 'internal' });
  expect((internal.retryAt ?? 0) - (internal.finishedAt ?? 0)).toBe(MINUTE);
  expect(second.logged).toEqual(['info refresh started', 'error refresh failed', 'warn refresh ended']);
  expect(second.heard.at(-2)).toBe('ended failed internal');
  await broken.close();
});

// biome-ignore lint/correctness/useYield: it fails before there is anything.
async function* raise(error: Error): AsyncGenerator<never> {
  throw error;
}

test('one that loses its lease ends as interrupted, and another copy can begin at once', async () => {
  const lost = new AbortController();
  await open(
    { a: one },
    {
      locks: {
        acquire: async () => ({ token: 1, lost: lost.signal, release: async () => {} }),
      },
    },
  );
  pool.network.before = () => pool.clock.sleep(5_000);
  await pool.service.refresh();
  await pool.clock.advance(300);
  lost.abort();
  const job = await pool.ended();
  expect(job).toMatchObject({ state: 'failed', error: 'interrupted' });
  expect(job.retryAt).toBe(job.finishedAt);
});

test('while judges respond and only lists are unreachable, it is retried half as often each time from the fourth on', async () => {
  const away = () => new Error('could not be reached');
  const lists: Lists = { a: one, b: ['socks5://192.0.2.2:80'], c: ['socks5://192.0.2.3:80'] };
  await open(lists, { refreshIntervalMs: 30 * MINUTE });
  expect(await pool.refresh()).toMatchObject({ state: 'done', failures: 0, retryAt: null });
  Object.assign(lists, { a: away(), b: away(), c: away() });
  const waits: number[] = [];
  for (let attempt = 0; attempt < 7; attempt++) {
    const { error, retryAt, finishedAt, failures } = await pool.refresh();
    expect([error, failures]).toEqual(['lists_failing', attempt + 1]);
    waits.push(((retryAt ?? 0) - (finishedAt ?? 0)) / MINUTE);
  }
  // Never later than the refresh that would have come anyway.
  expect(waits).toEqual([1, 2, 5, 10, 20, 30, 30]);
  Object.assign(lists, { a: one, b: one, c: one });
  expect(await pool.refresh()).toMatchObject({ state: 'done', failures: 0, retryAt: null });
});

test('while another copy holds the lock and shows no job, the start waits for a second and is refused', async () => {
  await open({ a: one });
  const lease = await pool.locks.acquire('refresh', 1000);
  const since = pool.clock.now();
  let refusal: unknown = null;
  const starting = pool.service.refresh().catch((error: unknown) => {
    refusal = error;
  });
  await pool.clock.advance(2_000);
  await starting;
  expect(refusal).toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
  expect(pool.clock.now() - since).toBe(2_000);
  await lease?.release();
  expect(await pool.refresh()).toMatchObject({ state: 'done' });
});

test('a start that cannot read the last job gives the lock back', async () => {
  await open({ a: one });
  const { get } = pool.state;
  pool.state.get = async () => {
    throw new AppError('unavailable', inEnglish('away'));
  };
  await expect(pool.service.refresh()).rejects.toThrow('away');
  pool.state.get = get;
  expect(await pool.refresh()).toMatchObject({ state: 'done' });
});

test('a start while the lock is being released succeeds', async () => {
  await open({ a: one });
  const lease = await pool.locks.acquire('refresh', 1000);
  const starting = pool.service.refresh();
  await pool.clock.advance(250);
  await lease?.release();
  await pool.clock.advance(150);
  expect(await starting).toMatchObject({ fetched: 1, failures: 0 });
});

test('a job of another copy counts as running through six seconds of silence, then a reader ends it', async () => {
  const { heard } = await open({ a: one });
  const died = { id: 'died', state: 'running', stage: 'verify', updatedAt: pool.clock.now() } as const;
  await save(died);
  await pool.clock.advance(5_999);
  expect(await pool.service.currentRefresh()).toMatchObject({ id: 'died', state: 'running' });
  expect(heard).toEqual([]);
  await pool.clock.advance(1);
  const found = await pool.service.currentRefresh();
  const end = { state: 'failed', error: 'interrupted', finishedAt: died.updatedAt, retryAt: died.updatedAt };
  expect(found).toMatchObject({ id: 'died', ...end });
  expect(await saved()).toMatchObject({ id: 'died', ...end });
  expect(await pool.service.currentRefresh()).toMatchObject({ id: 'died', state: 'failed' });
  expect(heard).toEqual(['settled died failed']);
  // The lock was given back.
  expect(await pool.refresh()).toMatchObject({ state: 'done' });
});

test('a silent job whose copy still holds the lock is left alone', async () => {
  await open({ a: one });
  await save({ id: 'slow', state: 'running', updatedAt: pool.clock.now() });
  const lease = await pool.locks.acquire('refresh', 1000);
  await pool.clock.advance(60_000);
  expect(await pool.service.currentRefresh()).toMatchObject({ id: 'slow', state: 'running' });
  await lease?.release();
});

test('a job that continues while a reader checks whether it has died is not ended', async () => {
  const locks = (await createPool()).locks;
  const { heard } = await open(
    { a: one },
    {
      locks: {
        async acquire(name, ttlMs) {
          // Just now the other copy tells of it again.
          await save({ id: 'slow', state: 'running', updatedAt: pool.clock.now() });
          return locks.acquire(name, ttlMs);
        },
      },
    },
  );
  await save({ id: 'slow', state: 'running', updatedAt: pool.clock.now() - MINUTE });
  expect(await pool.service.currentRefresh()).toMatchObject({ id: 'slow', state: 'running' });
  expect(heard).toEqual([]);
});

test('an end that cannot be saved is not announced, and a missing time is logged', async () => {
  const database = await createPool();
  const { heard, logged } = await open(
    { a: one },
    {
      state: {
        ...database.state,
        setFenced: (key, value, token) =>
          key === 'proxy:sources'
            ? database.state.setFenced(key, value, token)
            : Promise.reject(new Error('full')),
      },
    },
  );
  await pool.service.refresh();
  for (let n = 0; n < 20 && !heard.includes('ended done null'); n++) await pool.clock.advance(500);
  await pool.clock.advance(500);
  expect(heard.at(-1)).toBe('ended done null');
  expect(logged).toContain('warn time of refresh not saved');
  expect(logged).toContain('warn progress not saved');
});

test('what was dead for too long is removed in the last stage, under the lease of the refresh', async () => {
  await open({ a: one });
  const old = pool.clock.now() - 8 * 86_400_000;
  await pool.store.save([
    draft('http://192.0.2.9:80', old, { status: 'dead', lastAlive: null, nextCheck: old * 2 }),
  ]);
  expect(await pool.refresh({ all: false })).toMatchObject({ state: 'done', stage: 'cleanup', removed: 1 });
});
