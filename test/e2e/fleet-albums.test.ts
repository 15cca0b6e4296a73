import { describe, test } from 'bun:test';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { loseEverywhere } from '../support/images/gone-picture.ts';
import { shareAlbum } from '../support/images/shared-album.ts';
import { type Fleet, startFleet } from '../support/servers/fleet.ts';
import { withSchema } from '../support/stores/postgres.ts';
import { postgresFolder, sharedPostgres } from '../support/stores/postgres-server.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { sharedRedis } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

const hasPostgres = process.env.CI === 'true' || (await postgresFolder()) !== null;

const STORES: Record<string, () => Promise<{ url: string; stop(): Promise<unknown> }>> = {
  async Redis() {
    const redis = await sharedRedis();
    return { url: withPrefix(redis.url), stop: redis.stop };
  },
  async Postgres() {
    const postgres = await sharedPostgres();
    return { url: withSchema(postgres.url), stop: postgres.stop };
  },
};

// Over S3, see fleet.test.ts.
describe('three copies over one folder', () => {
  for (const [name, open] of Object.entries(STORES)) {
    const isMissing = name === 'Redis' ? absent('redis-server') : !hasPostgres;
    test.skipIf(absent('nginx') || isMissing)(
      `and ${name} share an album, and have no way left to a picture within 2 s of its deletion`,
      () =>
        withFolder(async (folder) => {
          const records = await open();
          const settings = {
            METADATA_URL: records.url,
            BLOBS_URL: `file:${join(folder, 'images')}`,
            SERVICES: 'image',
            ADMIN_TOKEN,
          };
          let fleet: Fleet | null = null;
          try {
            fleet = await startFleet(['bun', 'deno', 'bun'], () => settings);
            await shareAlbum(fleet);
            await loseEverywhere(fleet);
          } finally {
            await fleet?.stop();
            await records.stop();
          }
        }),
    );
  }
});
