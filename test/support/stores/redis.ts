import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { createRedisAlbums } from '../../../adapters/redis/albums.ts';
import { createRedisAudit } from '../../../adapters/redis/audit.ts';
import { openRedis, type RedisConnection } from '../../../adapters/redis/connection.ts';
import { createRedisImages } from '../../../adapters/redis/images.ts';
import { createRedisLocks } from '../../../adapters/redis/locks.ts';
import { createRedisProxies } from '../../../adapters/redis/proxies.ts';
import { createRedisRateLimiter } from '../../../adapters/redis/rate-limiter.ts';
import { createRedisState } from '../../../adapters/redis/state.ts';
import { openImageReplica } from '../../../adapters/sqlite/image-replica.ts';
import { openProxyReplica } from '../../../adapters/sqlite/proxy-replica.ts';
import type { ImageStore } from '../../../src/image/store.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { ProxyStore } from '../../../src/proxy/store.ts';
import type { Runtime } from '../../../src/runtime/runtime.ts';
import { albumStoreConformance } from '../../conformance/album-store.ts';
import { auditStoreConformance } from '../../conformance/audit-store.ts';
import { imageLossConformance } from '../../conformance/image-loss.ts';
import { imageSearchConformance } from '../../conformance/image-search.ts';
import { imageRecordsConformance } from '../../conformance/image-store.ts';
import { serverLocksConformance } from '../../conformance/locks.ts';
import { proxyQueryConformance } from '../../conformance/proxy-query.ts';
import { proxyRecordsConformance } from '../../conformance/proxy-store.ts';
import { rateLimiterConformance } from '../../conformance/rate-limiter.ts';
import { stateStoreConformance } from '../../conformance/state-store.ts';
import { type Open, type Test, whenRead } from '../runner.ts';

/** The URL with a prefix that no one else uses. */
export function withPrefix(url: string, prefix: string = randomUUID()): string {
  const own = new URL(url);
  own.searchParams.set('prefix', prefix);
  return own.href;
}

/** A busy machine must not fail a test. */
export const PATIENT_MS = 20_000;

/** Opens a connection with keys of its own, and whatever is made of it. */
export async function openOwn<T>(url: string, create: (redis: RedisConnection) => T) {
  const redis = await openRedis(withPrefix(url), PATIENT_MS);
  return { store: create(redis), close: () => redis.close() };
}

/** All suites for Redis, each test on keys of its own. */
export function redisConformance(test: Test, url: () => Promise<string>, runtime: Runtime): void {
  redisRecordsConformance(test, url, runtime);
  proxyQueryConformance(test, proxiesOf(url, runtime));
  imageSearchConformance(test, imagesOf(url, runtime));
}

/**
 * Those of what Redis does itself. Lists and searches are answered by a copy in SQLite, whatever kind of Redis it was read
 * from.
 */
export function redisRecordsConformance(test: Test, url: () => Promise<string>, runtime: Runtime): void {
  const opener = openerOf(url);
  proxyRecordsConformance(test, proxiesOf(url, runtime));
  imageRecordsConformance(test, imagesOf(url, runtime));
  imageLossConformance(
    test,
    opener((redis) => {
      const records = redis.key('images', 'records');
      return {
        images: createRedisImages(redis, () => openImageReplica(runtime, tmpdir())),
        lose: (...ids) =>
          ids.length > 0 ? redis.call('never', 'HDEL', records, ...ids) : redis.call('never', 'DEL', records),
      };
    }),
  );
  albumStoreConformance(
    test,
    opener((redis) => createRedisAlbums(redis)),
  );
  auditStoreConformance(test, opener(createRedisAudit));
  stateStoreConformance(test, opener(createRedisState));
  serverLocksConformance(test, async () => {
    const own = withPrefix(await url());
    const [one, two] = [await openRedis(own, PATIENT_MS), await openRedis(own, PATIENT_MS)];
    const close = async () => {
      await Promise.all([one.close(), two.close()]);
    };
    return { store: [createRedisLocks(one), createRedisLocks(two)] as const, close };
  });
  rateLimiterConformance(
    test,
    opener((redis) => ({
      limiter: createRedisRateLimiter(redis),
      advance: (ms: number) => systemClock.sleep(ms),
    })),
  );
}

function openerOf(url: () => Promise<string>) {
  return <T>(create: (redis: RedisConnection) => T): Open<T> =>
    async () =>
      openOwn(await url(), create);
}

function proxiesOf(url: () => Promise<string>, runtime: Runtime): Open<ProxyStore> {
  const open = openerOf(url)((redis) => createRedisProxies(redis, () => openProxyReplica(runtime, tmpdir())));
  return whenRead(open, (proxies) => proxies.summary());
}

function imagesOf(url: () => Promise<string>, runtime: Runtime): Open<ImageStore> {
  const open = openerOf(url)((redis) => createRedisImages(redis, () => openImageReplica(runtime, tmpdir())));
  return whenRead(open, (images) => images.list({ offset: 0, limit: 1 }));
}
