import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { json } from '../support/json.ts';
import { cli } from '../support/servers/cli.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import { PNG } from '../support/servers/running-server.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { withFolderOfItsOwn } from '../support/stores/s3.ts';
import { S3_ACCESS, sharedRedis, startS3, until } from '../support/stores/services.ts';

setDefaultTimeout(180_000);

const MARK = 'picpool-files-id';
const ends: (() => Promise<unknown>)[] = [];
const scratch = await sharedFolder();
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

interface Installation {
  env: Record<string, string>;
  /** Where its files are. */
  files: string;
}

async function sqliteWithFolder(): Promise<Installation> {
  const data = join(scratch, 'data');
  return { env: { DATA_DIR: data }, files: join(data, 'images') };
}

async function redisWithS3(): Promise<Installation> {
  const [redis, s3] = await Promise.all([sharedRedis(), startS3()]);
  ends.push(redis.stop, s3.stop);
  const url = withFolderOfItsOwn(s3.url);
  const env = {
    DATA_DIR: join(scratch, 'temporary'),
    METADATA_URL: withPrefix(redis.url),
    BLOBS_URL: url,
    ...S3_ACCESS,
  };
  return { env, files: join(s3.folder, new URL(url).pathname.slice(1)) };
}

const begin = ({ env }: Installation) =>
  startServer('bun', { ...QUIET, SERVICES: 'image', ...env }, env.DATA_DIR);

async function degradedOf({ url }: ServerProcess): Promise<string> {
  const { degraded = [] } = await json<{ degraded?: string[] }>(await fetch(`${url}/readyz`));
  return degraded.join();
}

async function expectPaused(server: ServerProcess): Promise<void> {
  const answer = await fetch(`${server.url}/api/upload`, { method: 'POST', body: PNG });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '60']);
  expect(await json<object>(answer)).toMatchObject({
    code: 'unavailable',
    error: expect.stringContaining('The operator has to mount or restore the storage.'),
  });
  expect(await degradedOf(server)).toContain('Mount or restore them');
}

const statusOf = async ({ url }: ServerProcess, id: string) => (await fetch(`${url}/i/${id}.webp`)).status;

test.each([
  ['SQLite and a folder', sqliteWithFolder],
  ['Redis and S3', redisWithS3],
])(
  'on %s, nothing is stored while all files are missing, until they are back or given up',
  async (_, install) => {
    const installation = await install();
    const { files } = installation;
    const away = `${files}-away`;
    const fresh = await begin(installation);
    const { status, id } = await upload(fresh);
    expect([status, await degradedOf(fresh)]).toEqual([201, '']);
    await fresh.stop();

    await rename(files, away);
    await mkdir(files, { recursive: true });
    const without = await begin(installation);
    await expectPaused(without);
    // The picture is not gone: what asks for it is to come back.
    expect(await statusOf(without, id)).toBe(503);
    expect((await readdir(files, { recursive: true })).filter((name) => name.includes(MARK))).toEqual([]);
    // The files come back under the running server, which goes on by itself.
    await rm(files, { recursive: true });
    await rename(away, files);
    await until(async () => (await upload(without)).status === 201);
    expect(await statusOf(without, id)).toBe(200);
    await until(async () => (await degradedOf(without)) === '');
    await without.stop();

    await rename(files, away);
    await mkdir(files, { recursive: true });
    const given = await begin(installation);
    await expectPaused(given);
    expect((await cli(['sweep', '--confirm'], { env: installation.env })).code).toBe(0);
    await until(async () => (await upload(given)).status === 201);
    expect(await statusOf(given, id)).toBe(404);
    await given.stop();
  },
);
