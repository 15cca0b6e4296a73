import { describe, expect, test } from 'bun:test';
import { openRedis } from '../../adapters/redis/connection.ts';
import { createRedisLocks } from '../../adapters/redis/locks.ts';
import { createRedisState } from '../../adapters/redis/state.ts';
import { type PoolState, watchPool } from '../../src/webhooks/watch.ts';
import { absent } from '../support/absent.ts';
import { shared } from '../support/shared.ts';
import { PATIENT_MS, withPrefix } from '../support/stores/redis.ts';
import { startRedis, until } from '../support/stores/services.ts';

const EVERY_MS = 20;

describe.skipIf(absent('redis-server'))('copies that watch the pool', () => {
  const redis = shared(startRedis);

  test('tell each event once together, and go on when the one that told dies', async () => {
    const url = withPrefix(redis.url);
    let pool: PoolState = { alive: 50, refreshed: true, judges: 'up' };
    const told: string[] = [];
    /** Which copies have looked at the pool, in turn. */
    const looks: number[] = [];
    let receives = true;

    const starts = [0, 1, 2].map(async (number) => {
      const connection = await openRedis(url, PATIENT_MS);
      const watching = watchPool({
        state: createRedisState(connection),
        locks: createRedisLocks(connection),
        low: 10,
        log: () => {},
        everyMs: EVERY_MS,
        // Long enough that no copy misses its turn on a busy machine.
        leaseMs: 2_000,
        async look() {
          looks.push(number);
          return pool;
        },
        send(type, _data, onEnd) {
          told.push(type);
          if (receives) onEnd?.();
        },
      });
      return { watching, die: () => connection.close() };
    });
    const copies = await Promise.all(starts);
    const looked = async (times: number) => {
      const from = looks.length;
      await until(async () => looks.length >= from + times);
      return looks.at(-1) ?? 0;
    };

    pool = { ...pool, alive: 5 };
    const first = await looked(10);
    expect(told).toEqual(['pool.low']);
    expect(new Set(looks)).toEqual(new Set([first]));

    await copies[first]?.die();
    await until(async () => looks.at(-1) !== first);
    await looked(10);
    expect(told).toEqual(['pool.low']);

    receives = false;
    pool = { ...pool, judges: 'down' };
    const second = await looked(10);
    expect(told).toEqual(['pool.low', 'judge.down']);
    receives = true;
    await copies[second]?.die();
    await until(async () => !new Set([first, second]).has(looks.at(-1) ?? first));
    await looked(10);
    expect(told).toEqual(['pool.low', 'judge.down', 'judge.down']);

    await Promise.all(copies.map(({ die }) => die()));
    await Promise.all(copies.map(({ watching }) => watching.stop()));
  }, 180_000);
});
