import { describe, test } from 'bun:test';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { shareAlbum } from '../support/images/shared-album.ts';
import { startFleet } from '../support/servers/fleet.ts';
import { withSchema } from '../support/stores/postgres.ts';
import { postgresFolder, sharedPostgres } from '../support/stores/postgres-server.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { sharedRedis } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

const hasPostgres = process.env.CI === 'true' || (await postgresFolder()) !== null;

type Records = { url: string; stop(): Promise<unknown> };

/** Two copies, one on Deno, over these records and one folder; over S3, see fleet.test.ts. */
const overFolder = async (records: Records) =>
  withFolder(async (folder) => {
    const fleet = await startFleet(['bun', 'deno'], () => ({
      METADATA_URL: records.url,
      BLOBS_URL: `file:${join(folder, 'images')}`,
      SERVICES: 'image',
    })).catch(async (error) => {
      await records.stop();
      throw error;
    });
    await shareAlbum(fleet).finally(() => Promise.all([fleet.stop(), records.stop()]));
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
