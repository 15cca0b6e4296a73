import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openRedis, type RedisConnection } from '../../adapters/redis/connection.ts';
import { createRedisProxies } from '../../adapters/redis/proxies.ts';
import { agreeOnSchema } from '../../adapters/redis/schema.ts';
import { absent } from '../support/absent.ts';
import { json } from '../support/json.ts';
import { logInto, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { drafts } from '../support/stores/records.ts';
import { PATIENT_MS } from '../support/stores/redis.ts';
import { type Service, startRedis, until } from '../support/stores/services.ts';

const ENV = { SERVICES: 'proxy', PROXY_JUDGES: 'http://127.0.0.1:9/', PROXY_SOURCES: 'file:/dev/null' };
const folder = await sharedFolder();

describe.skipIf(absent('redis-server'))('a server over Redis', () => {
  let server: Service;
  let redis: RedisConnection;
  beforeAll(async () => {
    server = await startRedis();
    redis = await openRedis(server.url, PATIENT_MS);
  });
  afterAll(async () => {
    await redis?.close();
    await server?.stop();
  });

  test('serves what it can read of what a newer picpool has written, and says what it cannot', async () => {
    const store = createRedisProxies(redis, () => Promise.reject(new Error('not read here')));
    await store.save(drafts(3));
    await agreeOnSchema(redis, { version: 2, reader: 1 });
    await redis.call('never', 'HSET', redis.key('proxies', 'records'), '2', '2["of the next version"]');
    const log = join(folder, 'log');
    const env = { ...ENV, METADATA_URL: server.url };
    const older = await startServer('bun', env, folder, logInto(log));
    try {
      expect(await json(await fetch(`${older.url}/api/v1/proxies`))).toMatchObject({ total: 2 });
      expect(await json(await fetch(`${older.url}/readyz`))).toEqual({
        success: true,
        status: 'degraded',
        degraded: ['Unreadable records are skipped (proxy: 1); the log names them.'],
      });
      const metrics = await (await fetch(`${older.url}/metrics`)).text();
      expect(metrics).toContain('\npicpool_store_unreadable_records{kind="proxy"} 1\n');
      expect(metrics).toContain('\npicpool_store_lag_seconds{kind="proxy"} 0\n');
    } finally {
      await older.stop();
      expect(await readFile(log, 'utf8')).toContain('a record of version 2 is newer than this program');
    }
  });

  test('says how old what it shows is, while Redis cannot be read', async () => {
    const own = await startRedis();
    const copy = await startServer('bun', { ...ENV, METADATA_URL: own.url });
    try {
      expect((await fetch(`${copy.url}/api/v1/proxies`)).status).toBe(200);
      await own.kill();
      const degraded = async () =>
        (await json<{ degraded?: string[] }>(await fetch(`${copy.url}/readyz`))).degraded ?? [];
      await until(async () =>
        (await degraded()).some((one) =>
          /^Proxies are shown as they were \d+ s ago: the record store/.test(one),
        ),
      );
      expect((await fetch(`${copy.url}/api/v1/proxies`)).status).toBe(200);
      const metrics = await (await fetch(`${copy.url}/metrics`)).text();
      const [, lag] = /\npicpool_store_lag_seconds\{kind="proxy"\} (\S+)/.exec(metrics) ?? [];
      expect(Number(lag)).toBeGreaterThan(2);
      await own.start();
      await until(async () => (await degraded()).length === 0);
    } finally {
      await copy.stop();
      await own.stop();
    }
  });
});
