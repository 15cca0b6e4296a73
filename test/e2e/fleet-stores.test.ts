import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { smoke } from '../support/servers/smoke.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { withFolderOfItsOwn } from '../support/stores/s3.ts';
import { S3_ACCESS, type Service, startRedis, startS3 } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

describe.skipIf(absent('redis-server', 'versitygw'))('stores that are mixed', () => {
  let redis: Service;
  let s3: Awaited<ReturnType<typeof startS3>>;

  beforeAll(async () => {
    [redis, s3] = await Promise.all([startRedis(), startS3()]);
  });
  afterAll(() => Promise.all([redis?.stop(), s3?.stop()]));

  /** Runs the work with a server; answers why it did not start, if it did not. */
  async function serving(
    env: Record<string, string>,
    work: (server: ServerProcess) => Promise<unknown> = async () => {},
  ): Promise<string | null> {
    const server = await startServer('bun', { ...QUIET, ...env }).catch((error: Error) => error.message);
    if (typeof server === 'string') return server;
    try {
      await work(server);
      return null;
    } finally {
      await server.stop();
    }
  }

  const store = async (server: ServerProcess) => expect((await upload(server)).status).toBe(201);

  // On Deno, see deno-permissions.test.ts.
  test('SQLite and S3 work together', async () => {
    const env = { BLOBS_URL: withFolderOfItsOwn(s3.virtualUrl), ...S3_ACCESS };
    expect(await serving(env, ({ url }) => smoke(url))).toBeNull();
  });

  test('copies over Redis may start together on one folder, but not on two', async () => {
    await withFolder(async (folder) => {
      const METADATA_URL = withPrefix(redis.url);
      const here = { METADATA_URL, BLOBS_URL: `file:${join(folder, 'here')}` };
      const there = { METADATA_URL, BLOBS_URL: `file:${join(folder, 'there')}` };
      expect(await Promise.all([serving(here), serving(here), serving(here)])).toEqual([null, null, null]);
      expect(await serving(there)).toContain('need BLOBS_URL=s3:... or one shared folder');
      expect(await serving(here, store)).toBeNull();
      expect(await serving(there)).toContain('need BLOBS_URL=s3:... or one shared folder');
    });
  });

  test('a folder whose files were moved without the mark is known by the files', async () => {
    await withFolder(async (folder) => {
      const METADATA_URL = withPrefix(redis.url);
      const [old, moved] = [join(folder, 'old'), join(folder, 'moved')];
      expect(await serving({ METADATA_URL, BLOBS_URL: `file:${old}` }, store)).toBeNull();
      const copied = Bun.spawnSync(['cp', '-r', old, moved]);
      const mark = await Array.fromAsync(new Bun.Glob('*/picpool-files-id').scan(moved));
      const unmarked = Bun.spawnSync(['rm', ...mark.map((path) => join(moved, path))]);
      expect([copied.exitCode, unmarked.exitCode]).toEqual([0, 0]);
      expect(await serving({ METADATA_URL, BLOBS_URL: `file:${moved}` })).toBeNull();
    });
  });

  test('a second installation does not take the files of the first for its leavings', async () => {
    const env = { BLOBS_URL: withFolderOfItsOwn(s3.url), ...S3_ACCESS };
    expect(await serving(env, store)).toBeNull();
    expect(await serving(env)).toContain('belong to other records');
    expect(await serving({ ...env, METADATA_URL: withPrefix(redis.url) })).toContain(
      'belong to other records',
    );
  });

  test('new records on one machine take the folder over', async () => {
    await withFolder(async (folder) => {
      const BLOBS_URL = `file:${folder}`;
      expect(await serving({ BLOBS_URL }, store)).toBeNull();
      expect(await serving({ BLOBS_URL })).toBeNull();
    });
  });
});
