import { test } from 'bun:test';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { loseEverywhere } from '../support/images/gone-picture.ts';
import { startFleet } from '../support/servers/fleet.ts';
import { withSchema } from '../support/stores/postgres.ts';
import { postgresFolder, sharedPostgres } from '../support/stores/postgres-server.ts';
import { withFolder } from '../support/temporary.ts';

const hasPostgres = process.env.CI === 'true' || (await postgresFolder()) !== null;

// Over Redis and S3, see fleet.test.ts.
test.skipIf(absent('nginx') || !hasPostgres)(
  'two copies over Postgres and one folder have no way left to a picture within 2 s of its deletion',
  () =>
    withFolder(async (folder) => {
      const postgres = await sharedPostgres();
      const settings = {
        METADATA_URL: withSchema(postgres.url),
        BLOBS_URL: `file:${join(folder, 'images')}`,
        SERVICES: 'image',
        ADMIN_TOKEN,
      };
      try {
        const fleet = await startFleet(['bun', 'bun'], () => settings);
        await loseEverywhere(fleet).finally(fleet.stop);
      } finally {
        await postgres.stop();
      }
    }),
);
