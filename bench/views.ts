/**
 * `bun bench/views.ts [asks, default 10000] [seed] [bun or deno]`: two copies of the server over one Redis, and pictures that may be
 * seen one to five times, asked for in every way at random. Exits with 1 where a picture came whole more often than allowed, or less
 * often, as a broken transfer used a view up. Needs Redis.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mixViews } from '../test/support/images/view-mix.ts';
import { startFleet } from '../test/support/servers/fleet.ts';
import { startRedis } from '../test/support/stores/services.ts';

const [asks = '10000', seed = '1', runtime = 'bun'] = process.argv.slice(2);

const folder = await mkdtemp(join(tmpdir(), 'picpool-views-'));
const redis = await startRedis();
const fleet = await startFleet([runtime === 'deno' ? 'deno' : 'bun', 'bun'], () => ({
  METADATA_URL: redis.url,
  BLOBS_URL: `file:${join(folder, 'images')}`,
  DATA_DIR: join(folder, 'data'),
  SERVICES: 'image',
}));
try {
  const startedAt = performance.now();
  const { pictures, counts, whole, allowed, late, faults } = await mixViews(
    fleet.copies,
    Number(asks),
    Number(seed),
  );
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(
    `${asks} asks (seed ${seed}) of ${pictures} pictures on two copies in ${seconds} s: ${JSON.stringify(counts)}`,
  );
  console.log(
    `seen whole ${whole} times of ${allowed} allowed; transfers that broke too late to be judged: ${late}; faults: ${faults.length}`,
  );
  for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
  process.exitCode = faults.length > 0 ? 1 : 0;
} finally {
  await fleet.stop();
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
}
