import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { absent } from '../../support/absent.ts';
import { json } from '../../support/json.ts';
import { type RedisWorld, startRedisWorld } from '../../support/loss/redis-world.ts';
import { until } from '../../support/stores/services.ts';

const REFUSED = 'image files are not removed';
const REBUILT = 'rebuilding the indexes of images';

describe.skipIf(absent('redis-server', 'versitygw'))('two copies whose records vanish', () => {
  let world: RedisWorld;
  beforeEach(async () => {
    world = await startRedisWorld(2);
  });
  afterEach(() => world?.stop());

  /** Every copy names the reason, in one error line and in its readiness. */
  async function everyoneSays(reason: string): Promise<void> {
    for (const server of world.servers) {
      await until(async () => (await world.readiness(server)).degraded !== undefined);
      expect(await world.readiness(server)).toMatchObject({
        code: 200,
        status: 'degraded',
        degraded: expect.arrayContaining([expect.stringContaining(reason)]),
      });
      const lines = server.logged.filter(({ message }) => message === REFUSED);
      expect(lines).toHaveLength(1);
      expect(JSON.stringify(lines[0]?.facts)).toContain(reason);
    }
  }

  test('keep all files after FLUSHALL, also when uploads follow', async () => {
    await world.upload(12);
    await world.files.age();
    const files = await world.files.placed();
    const swept = () => world.servers.flatMap(({ logged }) => logged).filter(isSweep).length;
    await until(() => swept() > 0);
    expect(await world.files.placed()).toEqual(files);

    await Promise.all([world.eachLogs(REFUSED), world.command('FLUSHALL')]);
    await everyoneSays('image-files-id');
    const later = await world.upload(2);
    await world.files.age();
    await world.twoTurns();
    expect(await world.files.placed()).toEqual(
      [...files, ...later.map(({ raw_url }) => raw_url.split('/').at(-1) ?? '')].sort(),
    );
  }, 180_000);

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

  const isSweep = ({ message }: { message: string }) => message === 'images cleaned up';
});
