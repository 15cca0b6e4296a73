import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openRedis } from '../../adapters/redis/connection.ts';
import { absent } from '../support/absent.ts';
import { QUIET } from '../support/servers/quiet-server.ts';
import { startServer } from '../support/servers/server-process.ts';
import { smoke } from '../support/servers/smoke.ts';
import { PATIENT_MS, withPrefix } from '../support/stores/redis.ts';
import { type RedisCluster, startRedisCluster, startTlsRedis } from '../support/stores/redis-forms.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

describe.skipIf(absent('redis-server', 'redis-cli', 'openssl'))('a server over', () => {
  let tls: Awaited<ReturnType<typeof startTlsRedis>>;
  let cluster: RedisCluster;

  beforeAll(async () => {
    [tls, cluster] = await Promise.all([startTlsRedis(), startRedisCluster()]);
  }, 180_000);
  afterAll(() => Promise.all([tls?.stop(), cluster?.stop()]));

  test.concurrent.each([
    ['bun', 'localhost'],
    ['deno', '127.0.0.1'],
  ] as const)(
    'Redis with TLS, a user and an authority of its own works on %s by the name %s',
    async (runtime, name) => {
      await withFolder(async (folder) => {
        const ca = join(folder, 'ca.pem');
        await writeFile(ca, tls.certificates.ca);
        const METADATA_URL = withPrefix(tls.url).replace('localhost', name);
        const server = await startServer(runtime, { ...QUIET, METADATA_URL, NODE_EXTRA_CA_CERTS: ca });
        await smoke(server.url).finally(server.stop);
      });
    },
    180_000,
  );

  test.concurrent('Redis whose certificate nobody vouches for does not start, and says why', async () => {
    const starting = startServer('bun', { ...QUIET, METADATA_URL: tls.url });
    // On a busy machine it waits for the store first.
    const ended = starting.then(async ({ exited, stderr }) => {
      await exited;
      throw new Error(stderr());
    });
    await expect(ended).rejects.toThrow(/certificate/);
  }, 180_000);

  // On Bun, see test/adapters/redis.test.ts.
  test.concurrent('a cluster works on Deno', async () => {
    const server = await startServer('deno', { ...QUIET, METADATA_URL: withPrefix(cluster.url) });
    await smoke(server.url).finally(server.stop);
  }, 180_000);

  test('a cluster goes on when a replica takes the place of a server that died', async () => {
    const redis = await openRedis(withPrefix(cluster.url), PATIENT_MS);
    const keys = Array.from({ length: 30 }, (_, n) => redis.key(`group ${n}`, 'value'));
    const answers = () => Promise.all(keys.map((key) => redis.call('safe', 'INCR', key)));
    try {
      expect(await answers()).toEqual(keys.map(() => 1));
      await cluster.failOver();
      await until(async () => (await answers().catch(() => [])).length === keys.length);
    } finally {
      await redis.close();
    }
  }, 180_000);
});
