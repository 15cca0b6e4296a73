import { describe, expect, test } from 'bun:test';
import { absent } from '../../support/absent.ts';
import { LOCAL_DISASTERS } from '../../support/loss/local-disasters.ts';
import { startLocalWorld } from '../../support/loss/local-world.ts';
import { REDIS_DISASTERS } from '../../support/loss/redis-disasters.ts';
import { startRedisWorld } from '../../support/loss/redis-world.ts';
import { runTrial } from '../../support/loss/trial.ts';

/** Two of the trials that `scripts/loss.ts` runs: it knows all disasters, and pairs of them. */
describe('a disaster costs no file and brings nothing back', () => {
  test.concurrent('when the database is removed under the running server', async () => {
    const world = await startLocalWorld();
    const disasters = LOCAL_DISASTERS.filter(({ name }) => name.includes('removed under'));
    expect(await runTrial(world, disasters).finally(world.stop)).toEqual([]);
  }, 180_000);

  test.concurrent.skipIf(absent('redis-server', 'versitygw'))(
    'when Redis is killed and comes back empty',
    async () => {
      const world = await startRedisWorld();
      const disasters = REDIS_DISASTERS.filter(({ name }) => name.includes('comes back empty'));
      expect(await runTrial(world, disasters).finally(world.stop)).toEqual([]);
    },
    180_000,
  );
});
