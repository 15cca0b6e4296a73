import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { absent } from '../../support/absent.ts';
import { json } from '../../support/json.ts';
import { type RedisWorld, startRedisWorld } from '../../support/loss/redis-world.ts';
import { until } from '../../support/stores/services.ts';

const REBUILT = 'rebuilding the indexes of images';

describe.skipIf(absent('redis-server', 'versitygw'))('two copies whose records vanish', () => {
  let world: RedisWorld;
  beforeEach(async () => {
    world = await startRedisWorld();
  });
  afterEach(() => world?.stop());

  test('rebuild the indices if Redis has evicted them but not the records', async () => {
    await world.upload(12);
    await world.files.age();
    const files = await world.files.placed();
    const prefix = new URL(world.env.METADATA_URL ?? '').searchParams.get('prefix');
    const lost = ['idle', 'public', 'totals'].map((name) => `{${prefix}:images}:${name}`);
    await world.command('DEL', ...lost);
    await until(() => world.servers.some(({ logged }) => logged.some(({ message }) => message === REBUILT)));
    for (const server of world.servers) {
      await until(async () => (await world.readiness(server)).degraded === undefined);
    }
    const list = await json<{ total: number }>(await fetch(`${world.servers[0]?.url}/api/list`));
    expect(list.total).toBe(12);
    expect(await world.files.placed()).toEqual(files);
  }, 180_000);
});
