/**
 * Many copies of the server over one Redis and one S3 server, which it starts itself; needs nginx.
 * `bun bench/fleet.ts load [kills] [copies]`: mixed requests while copies are killed and started.
 * `bun bench/fleet.ts kills [rounds] [interval]`: the copy that runs a refresh is killed at random moments.
 * `bun bench/fleet.ts uploads [turns]`: uploads of a 6-megapixel photo with images on S3 against images in a folder.
 */

import { ADMIN_TOKEN } from '../test/support/admin.ts';
import { runMixedLoad } from '../test/support/clients/mixed-load.ts';
import { startRefreshWorld } from '../test/support/farm/refresh-world.ts';
import { photo } from '../test/support/images/images.ts';
import { createRandom } from '../test/support/random.ts';
import { startFleet } from '../test/support/servers/fleet.ts';
import { startServer } from '../test/support/servers/server-process.ts';
import { takeOver } from '../test/support/servers/takeover.ts';
import { withPrefix } from '../test/support/stores/redis.ts';
import { withFolderOfItsOwn } from '../test/support/stores/s3.ts';
import { S3_CREDENTIALS, startRedis, startS3 } from '../test/support/stores/services.ts';

const SEED = 20_260_101;
/** Number of fleets side by side, each with two copies. */
const FLEETS = 4;
/**
 * A new fleet after this many rounds: two minutes after its first check a proxy is rechecked, which is not a refresh.
 */
const ROUNDS_A_FLEET = 4;

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

const [redis, s3] = await Promise.all([startRedis(), startS3()]);
const onS3 = () => ({
  BLOBS_URL: withFolderOfItsOwn(s3.url),
  AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
});
const stores = () => ({ METADATA_URL: withPrefix(redis.url), ...onS3() });
const noPool = { PROXY_JUDGES: 'http://127.0.0.1:9/', PROXY_SOURCES: 'file:/dev/null' };

async function load(kills: number, copies: number): Promise<void> {
  const own = { ...stores(), ...noPool };
  const fleet = await startFleet(Array<'bun'>(copies).fill('bun'), () => own);
  const startedAt = performance.now();
  const random = createRandom(SEED);
  const report = await runMixedLoad(fleet, {
    concurrency: 8,
    clients: 8,
    kills,
    uploadsBetween: 100,
    random,
  });
  console.log(
    `${kills} kills of ${copies} copies in ${Math.round((performance.now() - startedAt) / 1000)} s`,
  );
  console.log(report);
  await fleet.stop();
}

async function kills(rounds: number, interval: string): Promise<void> {
  const random = createRandom(SEED);
  const delays = Array.from({ length: rounds }, () => random() * 4000);
  const waits: number[] = [];
  async function runFleet(): Promise<void> {
    while (delays.length > 0) {
      const world = await startRefreshWorld({ silent: 40 });
      const own = { ...stores(), PROXY_REFRESH_INTERVAL: interval, SERVICES: 'proxy', ADMIN_TOKEN };
      const fleet = await startFleet(['bun', 'bun'], (incarnation) => ({
        ...own,
        ...world.envOf(incarnation),
      }));
      try {
        for (const killAfterMs of delays.splice(0, ROUNDS_A_FLEET)) {
          const { afterMs, checks } = await takeOver(fleet, world, killAfterMs);
          waits.push(afterMs);
          console.log(
            `killed after ${killAfterMs.toFixed(0)} ms, next check after ${afterMs} ms; checks ${checks}`,
          );
        }
      } finally {
        await fleet.stop();
        await world.stop();
      }
    }
  }
  for (const end of await Promise.allSettled(Array.from({ length: FLEETS }, runFleet))) {
    if (end.status === 'rejected') throw end.reason;
  }
  console.log(
    `${waits.length} rounds: the next refresh checks after ${median(waits)} ms in the median, ${Math.max(...waits)} ms at most`,
  );
}

async function uploads(turns: number): Promise<void> {
  const picture = await photo(2725, 2225);
  const env = { RATE_LIMITS: 'off', SERVICES: 'image' };
  const [folder, bucket] = await Promise.all([
    startServer('bun', env),
    startServer('bun', { ...env, ...onS3() }),
  ]);
  const times = { folder: [] as number[], bucket: [] as number[] };
  const upload = async (name: 'folder' | 'bucket', url: string) => {
    const startedAt = performance.now();
    const answer = await fetch(`${url}/api/upload?format=jpeg`, { method: 'POST', body: picture });
    if (answer.status !== 201) throw new Error(await answer.text());
    times[name].push(performance.now() - startedAt);
  };
  for (let turn = 0; turn < turns; turn++) {
    await upload('folder', folder.url);
    await upload('bucket', bucket.url);
  }
  const [f, b] = [median(times.folder), median(times.bucket)];
  console.log(
    `6-megapixel photo, ${(picture.length / 2 ** 20).toFixed(1)} MiB: S3 ${b.toFixed(0)} ms, folder ${f.toFixed(0)} ms, uploads per second S3 / folder ${(f / b).toFixed(2)}`,
  );
  await Promise.all([folder.stop(), bucket.stop()]);
}

const [what = 'load', first, second] = process.argv.slice(2);
try {
  if (what === 'kills') await kills(Number(first ?? 50), second ?? '1h');
  else if (what === 'uploads') await uploads(Number(first ?? 15));
  else await load(Number(first ?? 20), Number(second ?? 2));
} finally {
  await Promise.all([redis.stop(), s3.stop()]);
}
