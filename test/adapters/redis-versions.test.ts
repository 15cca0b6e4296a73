import { describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { createRedisAlbums } from '../../adapters/redis/albums.ts';
import { openRedis, type RedisConnection } from '../../adapters/redis/connection.ts';
import { createRedisImages } from '../../adapters/redis/images.ts';
import { createRedisProxies } from '../../adapters/redis/proxies.ts';
import { agreeOnSchema } from '../../adapters/redis/schema.ts';
import { openImageReplica } from '../../adapters/sqlite/image-replica.ts';
import { openProxyReplica } from '../../adapters/sqlite/proxy-replica.ts';
import type { Log } from '../../src/lib/logger.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { absent } from '../support/absent.ts';
import { plainFacts } from '../support/facts.ts';
import { shared } from '../support/shared.ts';
import { album, drafts, image } from '../support/stores/records.ts';
import { PATIENT_MS, withPrefix } from '../support/stores/redis.ts';
import { startRedis } from '../support/stores/services.ts';

describe.skipIf(absent('redis-server'))('records of another version', () => {
  const server = shared(startRedis);

  /** Runs the work on keys of its own; `named` are the records that the log names. */
  async function withRedis(
    work: (redis: RedisConnection, log: Log, named: string[]) => Promise<void>,
  ): Promise<void> {
    const redis = await openRedis(withPrefix(server.url), PATIENT_MS);
    const named: string[] = [];
    const log: Log = (_level, message, facts) => {
      const { kind, id } = plainFacts(facts);
      named.push(id === undefined ? message : `${kind} ${id}`);
    };
    await work(redis, log, named).finally(() => redis.close());
  }

  const openProxies = (redis: RedisConnection, log?: Log) =>
    createRedisProxies(redis, () => openProxyReplica(bunRuntime, tmpdir()), log);
  const openImages = (redis: RedisConnection, log?: Log) =>
    createRedisImages(redis, () => openImageReplica(bunRuntime, tmpdir()), log);

  test('a program that cannot read them refuses to start with a message; one that can runs beside the newer', () =>
    withRedis(async (redis) => {
      await agreeOnSchema(redis, { version: 1, reader: 1 });
      await agreeOnSchema(redis, { version: 2, reader: 1 });
      await agreeOnSchema(redis, { version: 1, reader: 1 });
      await agreeOnSchema(redis, { version: 3, reader: 2 });
      await agreeOnSchema(redis, { version: 2, reader: 1 });
      await expect(agreeOnSchema(redis, { version: 1, reader: 1 })).rejects.toThrow(
        'have schema version 3, which programs below version 2 cannot read; this picpool knows version 1',
      );
    }));

  test('unreadable proxies are skipped, named once, and replaced by the next check', () =>
    withRedis(async (redis, log, named) => {
      const older = openProxies(redis);
      const saved = await older.save(drafts(6, () => ({ status: 'dead', lastAlive: 1 })));
      expect((await older.summary()).total).toBe(6);
      const [one, two, three, four, five, six] = saved.map(({ id }) => id);
      const records = redis.key('proxies', 'records');
      const text = String(await redis.call('safe', 'HGET', records, String(three)));
      const overwrite = (id: number | undefined, value: string) =>
        redis.call('never', 'HSET', records, String(id), value);
      await overwrite(one, '{"shape":"other"}');
      await overwrite(two, 'no JSON');
      await overwrite(three, `2${text}`);
      await overwrite(four, text.replace('"dead"', '"resting"'));
      await overwrite(five, text.replace(/^\[\d+/, '["soon"'));

      const store = openProxies(redis, log);
      expect((await store.summary()).total).toBe(1);
      expect(named.sort()).toEqual([one, two, three, four, five].map((id) => `proxy ${id}`));
      expect(store.unreadable()).toBe(5);
      expect(await store.get(one ?? 0)).toBeNull();
      expect(await store.reschedule(two ?? 0, 5)).toBe(false);

      await store.save(drafts(3, () => ({ lastChecked: 1_800_000_000_000 })));
      expect((await store.summary()).total).toBe(4);
      expect(store.unreadable()).toBe(2);
      expect(await store.removeDead(10)).toBe(1);
      expect(await store.get(six ?? 0)).toBeNull();
      expect(await store.evict(1)).toBe(2);
      expect(named).toHaveLength(5);
    }));

  test('the log names the first twenty, and all are counted', () =>
    withRedis(async (redis, log, named) => {
      const saved = await openProxies(redis).save(drafts(30));
      for (const { id } of saved)
        await redis.call('never', 'HSET', redis.key('proxies', 'records'), String(id), '{}');
      const store = openProxies(redis, log);
      expect((await store.summary()).total).toBe(0);
      expect(store.unreadable()).toBe(30);
      expect(named.filter((name) => name.startsWith('proxy '))).toHaveLength(20);
      expect(named.slice(20)).toEqual(['more unreadable records, which are only counted']);
    }));

  test('unreadable images are skipped by lists, searches and the cleanup, and can be deleted', () =>
    withRedis(async (redis, log, named) => {
      const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
      const older = openImages(redis);
      for (const [index, id] of ids.entries()) {
        await older.insert(image({ id, filename: 'harbour.png', createdAt: 100 - index, lastAccess: index }));
      }
      const records = redis.key('images', 'records');
      for (const id of ['a', 'c', 'd', 'f'])
        await redis.call('never', 'HSET', records, id, '{"shape":"other"}');

      const store = openImages(redis, log);
      const page = await store.list({ offset: 0, limit: 1 });
      expect(page.items.map(({ id }) => id)).toEqual(['b']);
      expect(page.total).toBe(6);
      const next = await store.list({ after: page.next ?? { createdAt: 0, id: '' }, offset: 0, limit: 1 });
      expect(next.items.map(({ id }) => id)).toEqual(['e']);
      expect(next.next).toBeNull();
      const found = await store.list({ text: 'harb', offset: 0, limit: 9 });
      expect(found.items.map(({ id }) => id)).toEqual(['b', 'e']);
      expect((await store.idleSince(50, 1)).map(({ id }) => id)).toEqual(['b']);
      expect((await store.recent({ offset: 0, limit: 2 })).map(({ id }) => id)).toEqual(['e', 'b']);
      await expect(store.get('a')).rejects.toMatchObject({ code: 'unavailable' });
      expect(await store.existing(['a'])).toEqual(new Set(['a']));
      expect(named.sort()).toEqual(['a', 'c', 'd', 'f'].map((id) => `image ${id}`));

      await redis.call('never', 'DEL', redis.key('images', 'totals'));
      await store.repair();
      expect((await store.summary()).images).toBe(6);
      expect(await store.remove('a')).toBe(true);
      expect(await store.summary()).toMatchObject({ images: 5, protected: 0 });
      expect(await store.buried(['a'])).toEqual(new Set(['a']));
      expect(await store.faults()).toEqual([]);
    }));

  test('unreadable albums do not keep those that are due after them from being found', () =>
    withRedis(async (redis, log) => {
      const store = createRedisAlbums(redis, log);
      const ids = Array.from({ length: 9 }, (_, index) => `album${index}`);
      for (const [dueAt, id] of ids.entries()) await store.insert(album({ id, dueAt }));
      for (const id of ids.slice(0, 5))
        await redis.call('never', 'HSET', redis.key('albums', 'records'), id, '9[1]');
      const due = async (limit: number) => (await store.dueBy(9, limit)).map(({ id }) => id);
      expect(await due(2)).toEqual(ids.slice(5, 7));
      expect(await due(5)).toEqual(ids.slice(5));
    }));
});
