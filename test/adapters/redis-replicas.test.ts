import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { createRedisAlbums } from '../../adapters/redis/albums.ts';
import { openRedis, type RedisConnection } from '../../adapters/redis/connection.ts';
import { redisFindings } from '../../adapters/redis/findings.ts';
import { createRedisImages } from '../../adapters/redis/images.ts';
import { createRedisState } from '../../adapters/redis/state.ts';
import { openImageReplica } from '../../adapters/sqlite/image-replica.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { absent } from '../support/absent.ts';
import { album, image } from '../support/stores/records.ts';
import { PATIENT_MS, withPrefix } from '../support/stores/redis.ts';
import { startReplicatedRedis, startSentinel } from '../support/stores/redis-replicas.ts';
import { command, until } from '../support/stores/services.ts';

setDefaultTimeout(180_000);

const withWait = (url: string) => `${withPrefix(url)}&wait=1`;

const openImages = (redis: RedisConnection) =>
  createRedisImages(redis, () => openImageReplica(bunRuntime, tmpdir()));

/** Resolves when a replica has it, which a busy machine may not manage in the time of one question. */
const confirmed = (images: Pick<ImageStore, 'confirm'>, id: string) =>
  until(() =>
    images.confirm(id).then(
      () => true,
      () => false,
    ),
  );

const UNCERTAIN = { code: 'unavailable', message: expect.stringContaining('could not copy this') };

describe.skipIf(absent('redis-server'))('wait=1', () => {
  let servers: Awaited<ReturnType<typeof startReplicatedRedis>>;
  beforeAll(async () => {
    servers = await startReplicatedRedis();
  });
  afterAll(() => servers?.stop());

  test('confirms only what a replica has', async () => {
    const redis = await openRedis(withWait(servers.url), PATIENT_MS);
    try {
      const images = openImages(redis);
      for (const id of ['a', 'b']) await images.insert(image({ id }));
      await Promise.all([confirmed(images, 'a'), confirmed(images, 'b')]);
      await expect(images.confirm('never-inserted')).rejects.toMatchObject(UNCERTAIN);
      expect(await redisFindings(redis, 1)).toEqual([]);

      servers.replica.pause();
      await images.insert(image({ id: 'c' }));
      const late = await Promise.allSettled([images.confirm('c'), images.confirm('a')]);
      expect(late.map((one) => one.status === 'rejected' && one.reason)).toEqual([
        expect.objectContaining(UNCERTAIN),
        expect.objectContaining(UNCERTAIN),
      ]);
      servers.replica.resume();
      await until(() =>
        images.confirm('c').then(
          () => true,
          () => false,
        ),
      );

      expect((await redisFindings(redis, 2)).map(({ level, text }) => `${level}: ${text}`)).toEqual([
        'fail: Redis has 1 of the replicas that must confirm uploads (wait=2).',
      ]);
    } finally {
      await redis.close();
    }
  });

  test('albums and their changes are also confirmed, and an uncertain album is undone', async () => {
    const redis = await openRedis(withWait(servers.url), PATIENT_MS);
    try {
      const albums = createRedisAlbums(redis);
      await albums.insert(album());
      expect(await albums.replace(album({ revision: 2 }))).toBe(true);
      expect(await albums.replace(album({ revision: 2 }))).toBe(false);
      servers.replica.pause();
      await expect(albums.insert(album({ id: 'bbbbbbbbbbbb' }))).rejects.toMatchObject(UNCERTAIN);
      await expect(albums.replace(album({ revision: 3 }))).rejects.toMatchObject(UNCERTAIN);
      expect(await albums.get('bbbbbbbbbbbb')).toBeNull();
      servers.replica.resume();
    } finally {
      await redis.close();
    }
  });

  test('never confirms what a new master has lost', async () => {
    const redis = await openRedis(withWait(servers.url), PATIENT_MS);
    try {
      const images = openImages(redis);
      await images.insert(image({ id: 'kept' }));
      await command(servers.master.port, 'FLUSHALL');
      await expect(images.confirm('kept')).rejects.toMatchObject(UNCERTAIN);
    } finally {
      await redis.close();
    }
  });

  test('without it replicas are not asked', async () => {
    const redis = await openRedis(withPrefix(servers.url), PATIENT_MS);
    servers.replica.pause();
    const images = openImages(redis);
    await images.insert(image({ id: 'a' }));
    await images.confirm('a');
    servers.replica.resume();
    await redis.close();
  });
});

test.skipIf(absent('redis-server'))(
  'a sentinel names the master, and after a failover the new one, which has what was confirmed',
  async () => {
    const servers = await startSentinel();
    const redis = await openRedis(`${servers.url}&wait=1`, PATIENT_MS);
    try {
      const images = openImages(redis);
      const state = createRedisState(redis);
      await images.insert(image({ id: 'before' }));
      await confirmed(images, 'before');
      expect(await redisFindings(redis, 1)).toEqual([]);

      await servers.master.kill();
      await until(() =>
        state.set('after', 'yes').then(
          () => true,
          (error: { code?: string }) => {
            expect(error.code).toBe('unavailable');
            return false;
          },
        ),
      );
      expect(await images.get('before')).toMatchObject({ id: 'before' });
      expect(await state.get('after')).toBe('yes');
      expect(await command(servers.replica.port, 'INFO', 'replication')).toContain('role:master');
      // There is no replica left that could confirm, and the connection that asks may still look for the new master.
      await images.insert(image({ id: 'after' }));
      await expect(images.confirm('after')).rejects.toMatchObject({ code: 'unavailable' });
    } finally {
      await redis.close();
      await servers.stop();
    }
  },
);
