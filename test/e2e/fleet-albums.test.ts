import { describe, test } from 'bun:test';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { loseEverywhere } from '../support/images/gone-picture.ts';
import { shareAlbum } from '../support/images/shared-album.ts';
import { type Fleet, startFleet } from '../support/servers/fleet.ts';
import type { RuntimeName } from '../support/servers/server-process.ts';
import { withSchema } from '../support/stores/postgres.ts';
import { postgresFolder, sharedPostgres } from '../support/stores/postgres-server.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { sharedRedis } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

const hasPostgres = process.env.CI === 'true' || (await postgresFolder()) !== null;

type Records = { url: string; stop(): Promise<unknown> };

/** Copies over these records and one folder; over S3, see fleet.test.ts. */
const overFolder = async (
  records: Records,
  runtimes: RuntimeName[] = ['bun', 'deno'],
  work: (fleet: Fleet) => Promise<void> = shareAlbum,
) =>
  withFolder(async (folder) => {
    const fleet = await startFleet(runtimes, () => ({
      METADATA_URL: records.url,
      BLOBS_URL: `file:${join(folder, 'images')}`,
      SERVICES: 'image',
      ADMIN_TOKEN,
    })).catch(async (error) => {
      await records.stop();
      throw error;
    });
    await work(fleet).finally(() => Promise.all([fleet.stop(), records.stop()]));
  });

describe('two copies over one folder share an album', () => {
  test.skipIf(absent('redis-server', 'nginx'))('with their records in Redis', async () => {
    const redis = await sharedRedis();
    await overFolder({ url: withPrefix(redis.url), stop: redis.stop });
  });

  test.skipIf(absent('nginx') || !hasPostgres)('with their records in Postgres', async () => {
    const postgres = await sharedPostgres();
    await overFolder({ url: withSchema(postgres.url), stop: postgres.stop });
  });
});

describe('three copies over one folder have no way left to a picture within 2 s of its deletion', () => {
  const runtimes: RuntimeName[] = ['bun', 'bun', 'deno'];

  test.skipIf(absent('redis-server', 'nginx'))('with their records in Redis', async () => {
    const redis = await sharedRedis();
    await overFolder({ url: withPrefix(redis.url), stop: redis.stop }, runtimes, loseEverywhere);
  });

  test.skipIf(absent('nginx') || !hasPostgres)('with their records in Postgres', async () => {
    const postgres = await sharedPostgres();
    await overFolder({ url: withSchema(postgres.url), stop: postgres.stop }, runtimes, loseEverywhere);
  });
});
