import { expect, test } from 'bun:test';
import { openRedis } from '../../adapters/redis/connection.ts';
import { agreeOnSchema } from '../../adapters/redis/schema.ts';
import { absent } from '../support/absent.ts';
import { json } from '../support/json.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import {
  type RuntimeName,
  type ServerProcess,
  startServer,
  startWaiting,
} from '../support/servers/server-process.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { withFolderOfItsOwn } from '../support/stores/s3.ts';
import { S3_ACCESS, startRedis, startS3, until } from '../support/stores/services.ts';

interface Readiness {
  status: number;
  degraded: string[];
}

async function readiness({ url }: ServerProcess): Promise<Readiness> {
  const answer = await fetch(`${url}/readyz`);
  const { degraded = [] } = await json<{ degraded?: string[] }>(answer);
  return { status: answer.status, degraded };
}

const isReady = async (server: ServerProcess) => {
  const { status, degraded } = await readiness(server);
  return status === 200 && degraded.length === 0;
};

test.concurrent.skipIf(absent('redis-server'))(
  'copies that start while Redis is away live, are not ready, and serve as soon as it is there',
  async () => {
    const redis = await startRedis();
    const newerUrl = withPrefix(redis.url);
    const connection = await openRedis(newerUrl);
    await agreeOnSchema(connection, { version: 9, reader: 9 });
    await connection.close();
    await redis.kill();
    const start = (runtime: RuntimeName, METADATA_URL: string) =>
      startWaiting(runtime, { ...QUIET, METADATA_URL });
    const [onBun, onDeno, newer, stopped] = await Promise.all([
      start('bun', withPrefix(redis.url)),
      start('deno', withPrefix(redis.url)),
      start('bun', newerUrl),
      start('bun', newerUrl),
    ]);
    try {
      for (const server of [onBun, onDeno]) {
        expect(server.stderr()).toContain('(not responding; waiting for it)');
        expect((await fetch(`${server.url}/livez`)).status).toBe(200);
        expect((await readiness(server)).status).toBe(503);
        const early = await fetch(`${server.url}/i/abcdefghijkl`);
        expect([early.status, early.headers.get('retry-after')]).toEqual([503, '5']);
        expect(await json(early)).toMatchObject({ error: 'The record store does not respond yet.' });
      }
      expect(await stopped.stop()).toBe(0);
      await redis.start();
      for (const server of [onBun, onDeno]) {
        await until(() => isReady(server));
        expect((await upload(server)).status).toBe(201);
        expect((await fetch(`${server.url}/api/v1/proxies`)).status).toBe(200);
      }
      expect(await newer.exited).toBe(3);
      expect(newer.stderr()).toContain('cannot start: The records in Redis have schema version 9');
    } finally {
      expect(await Promise.all([onBun.stop(), onDeno.stop()])).toEqual([0, 0]);
      await newer.stop();
      await redis.stop();
    }
  },
);

test.concurrent.skipIf(absent('versitygw'))(
  'a copy whose very first start finds no S3 server serves the pool, and pairs its stores when it is there',
  async () => {
    const s3 = await startS3();
    const env = (BLOBS_URL: string) => ({ ...QUIET, ...S3_ACCESS, BLOBS_URL });
    const [fresh, taken] = [withFolderOfItsOwn(s3.url), withFolderOfItsOwn(s3.url)];
    const owner = await startServer('bun', env(taken));
    expect((await upload(owner)).status).toBe(201);
    await owner.stop();
    await s3.kill();
    const [first, stranger] = await Promise.all([
      startServer('bun', env(fresh)),
      startServer('bun', env(taken)),
    ]);
    try {
      expect((await fetch(`${first.url}/api/v1/proxies`)).status).toBe(200);
      const { status, degraded } = await readiness(first);
      expect(status).toBe(200);
      expect(degraded).toContain(
        'The image store cannot be read. The image storage does not respond. Try again in a few seconds.',
      );
      await s3.start();
      await until(() => isReady(first));
      expect((await upload(first)).status).toBe(201);
      expect(await isReady(first)).toBe(true);
      // The files of another installation stay in doubt, and are left alone.
      await until(async () =>
        (await readiness(stranger)).degraded.some((one) => one.includes('image-files-id')),
      );
    } finally {
      await Promise.all([first.stop(), stranger.stop()]);
    }
    await expect(startServer('bun', env(fresh))).rejects.toThrow('belong to other records');
    await s3.stop();
  },
);
