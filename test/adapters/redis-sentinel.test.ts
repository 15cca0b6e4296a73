import { expect, test } from 'bun:test';
import { openRedis } from '../../adapters/redis/connection.ts';
import { redisFindings } from '../../adapters/redis/findings.ts';
import { createRedisState } from '../../adapters/redis/state.ts';
import { absent } from '../support/absent.ts';
import { PATIENT_MS } from '../support/stores/redis.ts';
import { startSentinel } from '../support/stores/redis-replicas.ts';
import { command, until } from '../support/stores/services.ts';

test.skipIf(absent('redis-server'))(
  'a sentinel names the master, and after a failover the new one, which has what its replica had',
  async () => {
    const servers = await startSentinel();
    const redis = await openRedis(servers.url, PATIENT_MS);
    try {
      const state = createRedisState(redis);
      await state.set('before', 'yes');
      expect(await redisFindings(redis)).toEqual([]);
      await until(
        async () => (await command(servers.replica.port, 'HLEN', redis.key('state', 'values'))) !== ':0\r\n',
      );

      await servers.master.kill();
      await until(() =>
        state.set('after', 'yes').then(
          () => true,
          (error: { code?: string }) => {
            expect(error.code).toBe('unavailable');
            return false;
          },
        ),
      );
      expect([await state.get('before'), await state.get('after')]).toEqual(['yes', 'yes']);
      expect(await command(servers.replica.port, 'INFO', 'replication')).toContain('role:master');
    } finally {
      await redis.close();
      await servers.stop();
    }
  },
  180_000,
);
