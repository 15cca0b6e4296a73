/**
 * `bun bench/upgrade.ts COMMIT [uploads]`: a fleet of that version is replaced by this one, copy by copy, each after so many uploads,
 * while clients use it. Exits with 1 where a client saw an error other than 503 with Retry-After, or where something is lost. Needs
 * git, nginx, Redis and versitygw.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runMixedLoad } from '../test/support/clients/mixed-load.ts';
import { createRandom } from '../test/support/random.ts';
import { startFleet } from '../test/support/servers/fleet.ts';
import { withPrefix } from '../test/support/stores/redis.ts';
import { withFolderOfItsOwn } from '../test/support/stores/s3.ts';
import { S3_CREDENTIALS, startRedis, startS3 } from '../test/support/stores/services.ts';

const COPIES = 2;
const root = resolve(import.meta.dir, '..');
const [commit, uploads = '50'] = process.argv.slice(2);
if (commit === undefined) throw new Error('Say from which commit: bun bench/upgrade.ts COMMIT');

async function run(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdout: 'ignore', stderr: 'pipe' });
  const said = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${said}`);
}

const folder = await mkdtemp(join(tmpdir(), 'picpool-upgrade-'));
const old = join(folder, 'old');
try {
  await run(['git', 'worktree', 'add', '--detach', old, commit], root);
  await run([process.execPath, 'install', '--frozen-lockfile'], old);
  await upgrade();
} finally {
  await run(['git', 'worktree', 'remove', '--force', old], root).catch(() => {});
  await rm(folder, { recursive: true, force: true });
}

async function upgrade(): Promise<void> {
  const [redis, s3] = await Promise.all([startRedis(), startS3()]);
  const env = {
    METADATA_URL: withPrefix(redis.url),
    BLOBS_URL: withFolderOfItsOwn(s3.url),
    AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
    PROXY_JUDGES: 'http://127.0.0.1:9/',
    PROXY_SOURCES: 'file:/dev/null',
  };
  const fleet = await startFleet(
    Array<'bun'>(COPIES).fill('bun'),
    () => env,
    (incarnation) => (incarnation <= COPIES ? [process.execPath, join(old, 'src/main.ts')] : undefined),
  );
  try {
    const report = await runMixedLoad(fleet, {
      concurrency: 8,
      clients: 4,
      kills: COPIES,
      uploadsBetween: Number(uploads),
      random: createRandom(1),
      async replace(copy) {
        console.log(`an old copy ended with ${await copy.end()}`);
        await copy.start();
      },
    });
    console.log(report);
    if (report.lost.length + report.undead.length + report.faults.length > 0) process.exitCode = 1;
  } finally {
    await fleet.stop();
    await Promise.all([redis.stop(), s3.stop()]);
  }
}
