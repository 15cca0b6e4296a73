import { afterAll, beforeAll, describe, setDefaultTimeout, test } from 'bun:test';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { redisConformance } from '../support/redis.ts';
import { sharedRedis, startRedis } from '../support/services.ts';

setDefaultTimeout(20_000);

for (const [kind, start] of [
  ['a server', sharedRedis],
  ['a cluster', () => startRedis({ cluster: true })],
] as const) {
  describe(kind, () => {
    let server: Awaited<ReturnType<typeof sharedRedis>>;
    beforeAll(async () => {
      server = await start();
    });
    afterAll(() => server.stop());
    redisConformance(test, async () => server.url, bunRuntime.openSqlite);
  });
}
