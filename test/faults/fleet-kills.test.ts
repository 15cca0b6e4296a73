import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { absent } from '../support/absent.ts';
import { runMixedLoad } from '../support/clients/mixed-load.ts';
import { startRefreshWorld } from '../support/farm/refresh-world.ts';
import { createRandom } from '../support/random.ts';
import { startFleet } from '../support/servers/fleet.ts';
import { takeOver } from '../support/servers/takeover.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { withFolderOfItsOwn } from '../support/stores/s3.ts';
import { S3_CREDENTIALS, type Service, startRedis, startS3, until } from '../support/stores/services.ts';

/** A receiver of events, which are all told where the pool never has enough. */
function startHook() {
  const told: string[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { type, data } = (await request.json()) as { type: string; data: { error?: string } };
      told.push(data.error ? `${type} ${data.error}` : type);
      return new Response();
    },
  });
  return {
    told,
    env: {
      WEBHOOK_URLS: `http://127.0.0.1:${server.port}/`,
      WEBHOOK_SECRET: 'a-secret-of-the-webhooks',
      WEBHOOK_POOL_BELOW: '1000',
    },
    stop: () => server.stop(true),
  };
}

describe.skipIf(absent('nginx', 'redis-server', 'versitygw'))('copies that are killed', () => {
  let redis: Service;
  let s3: Service;

  beforeAll(async () => {
    [redis, s3] = await Promise.all([startRedis(), startS3()]);
  });
  afterAll(() => Promise.all([redis?.stop(), s3?.stop()]));

  const stores = () => ({
    METADATA_URL: withPrefix(redis.url),
    BLOBS_URL: withFolderOfItsOwn(s3.url),
    AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
  });

  test.concurrent('lose no upload and cause no error but 503', async () => {
    const own = { ...stores(), PROXY_JUDGES: 'http://127.0.0.1:9/', PROXY_SOURCES: 'file:/dev/null' };
    const fleet = await startFleet(['bun', 'bun'], () => own);
    try {
      const report = await runMixedLoad(fleet, {
        concurrency: 8,
        clients: 1,
        kills: 3,
        uploadsBetween: 15,
        random: createRandom(1),
      });
      expect(report).toMatchObject({ lost: [], undead: [], faults: [] });
      expect(report.kills).toBe(3);
      expect(report.stored).toBeGreaterThan(25);
    } finally {
      await fleet.stop();
    }
  }, 180_000);

  test.concurrent('during a refresh are followed by another, never beside it, and each event is sent once', async () => {
    const random = createRandom(2);
    const rounds = Array.from({ length: 2 }, async () => {
      const world = await startRefreshWorld({ silent: 28 });
      const hook = startHook();
      const own = { ...stores(), PROXY_REFRESH_INTERVAL: '60s', SERVICES: 'proxy', ...hook.env };
      const fleet = await startFleet(['bun', 'bun'], (incarnation) => ({
        ...own,
        ...world.envOf(incarnation),
      }));
      try {
        const { afterMs } = await takeOver(fleet, world, random() * 2000);
        expect(afterMs).toBeLessThan(30_000);
        await until(async () => hook.told.length >= 3);
      } finally {
        await fleet.stop();
        await hook.stop();
        await world.stop();
      }
      expect(hook.told.toSorted()).toEqual(['pool.low', 'refresh.finished', 'refresh.finished interrupted']);
    });
    await Promise.all(rounds);
  }, 180_000);
});
