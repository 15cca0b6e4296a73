import { afterEach, describe, expect, test } from 'bun:test';
import { createPool, draft } from '../support/pool/pool.ts';

const HOUR = 3_600_000;
type Pool = Awaited<ReturnType<typeof createPool>>;
let pool: Pool;
afterEach(() => pool.close());

const urls = (count: number) => Array.from({ length: count }, (_, index) => `http://192.0.2.${index + 1}:80`);

/** A pool whose proxies were checked an hour ago and are due; no refresh comes between. */
async function open(count: number, options: Parameters<typeof createPool>[1] = {}) {
  pool = await createPool({}, { refreshOnStart: false, ...options });
  const hourAgo = pool.clock.now() - HOUR;
  await pool.store.save(urls(count).map((url, index) => draft(url, hourAgo + index)));
  return pool;
}

describe('between refreshes', () => {
  test('due proxies are checked, the longest overdue first, and saved within a second', async () => {
    await open(3, { checksPerHour: 3600 });
    pool.network.working.add('http://192.0.2.1:80');
    pool.service.start();
    await pool.clock.advance(4000);
    expect(pool.network.asked.slice(0, 3)).toEqual(urls(3));
    await pool.clock.advance(1000);
    expect(await pool.service.stats()).toMatchObject({ alive: 1, total: 3 });
  });

  test('no more checks are made than the budget allows', async () => {
    await open(250, { checksPerHour: 3600 });
    pool.service.start();
    await pool.clock.advance(100_000);
    expect(pool.network.asked.length).toBeGreaterThan(90);
    expect(pool.network.asked.length).toBeLessThanOrEqual(101);
  });

  test('no more checks run at once than allowed', async () => {
    await open(50, { checksPerHour: 100 * 3600, concurrency: 7 });
    let running = 0;
    let most = 0;
    pool.network.before = async () => {
      most = Math.max(most, ++running);
      await pool.clock.sleep(3000);
      running--;
    };
    pool.service.start();
    await pool.clock.advance(60_000);
    expect(most).toBe(7);
    expect(pool.network.asked.length).toBeGreaterThanOrEqual(50);
  });

  test('a proxy is not checked twice at a time', async () => {
    await open(1, { checksPerHour: 100 * 3600 });
    pool.network.before = () => pool.clock.sleep(20_000);
    pool.service.start();
    await pool.clock.advance(15_000);
    expect(pool.network.asked.length).toBe(1);
  });

  test('nothing is checked while no judge responds, and everything once one does', async () => {
    await open(3, { checksPerHour: 3600 });
    pool.network.judge = 'down';
    let probes = 0;
    const probe = pool.network.probe;
    pool.network.probe = () => {
      probes++;
      return probe();
    };
    pool.service.start();
    await pool.clock.advance(10 * 60_000);
    expect(pool.network.asked).toEqual([]);
    expect(probes).toBeLessThan(20);
    expect(await pool.service.stats()).toMatchObject({ alive: 3 });
    pool.network.judge = 'up';
    await pool.clock.advance(70_000);
    expect(new Set(pool.network.asked).size).toBe(3);
  });

  test('only one copy rechecks', async () => {
    await open(3, { checksPerHour: 3600 });
    const lease = await pool.locks.acquire('recheck', 1000);
    pool.service.start();
    await pool.clock.advance(30_000);
    expect(pool.network.asked).toEqual([]);
    await lease?.release();
    await pool.clock.advance(20_000);
    expect(pool.network.asked.length).toBe(3);
  });

  test('stopping saves finished checks', async () => {
    await open(1, { checksPerHour: 3600 });
    pool.service.start();
    await pool.clock.advance(1100);
    expect(pool.network.asked.length).toBe(1);
    const stopped = pool.service.stop();
    await pool.clock.advance(2000);
    await stopped;
    expect(await pool.service.stats()).toMatchObject({ alive: 0, total: 1 });
  });
});
