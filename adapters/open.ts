import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../src/errors.ts';
import type { BlobStore, ImageStore } from '../src/image/store.ts';
import type { Locks } from '../src/lib/locks.ts';
import type { RateLimiter } from '../src/lib/rate-limiter.ts';
import type { StateStore } from '../src/lib/state.ts';
import type { ProxyStore } from '../src/proxy/store.ts';
import type { Runtime } from '../src/runtime/runtime.ts';

/** Everything that is kept outside the process, and what is shared through it. */
export interface Stores {
  proxies: ProxyStore;
  images: ImageStore;
  state: StateStore;
  blobs: BlobStore;
  locks: Locks;
  limiter: RateLimiter;
  close(): Promise<void>;
}

type Metadata = Omit<Stores, 'blobs'>;

/** Who picpool is to an S3 server. */
export interface Credentials {
  accessKeyId: string | undefined;
  secretAccessKey: string | undefined;
}

/**
 * Opens the stores that the URLs name; each adapter is loaded only when it is used.
 * @throws {AppError} `unavailable` where one cannot be opened.
 */
export async function openStores(
  metadataUrl: string,
  blobsUrl: string,
  runtime: Runtime,
  credentials?: Credentials,
): Promise<Stores> {
  const blobs = await openBlobs(blobsUrl, runtime, credentials);
  return { ...(await openMetadata(metadataUrl, runtime)), blobs };
}

async function openMetadata(url: string, runtime: Runtime): Promise<Metadata> {
  if (/^rediss?:/.test(url)) return openRedisMetadata(url, runtime);
  if (!url.startsWith('sqlite:'))
    throw new AppError('unavailable', `No adapter opens ${new URL(url).protocol} URLs.`);
  const { openDatabase } = await import('./sqlite/database.ts');
  const { createSqliteProxies } = await import('./sqlite/proxies.ts');
  const { createSqliteImages } = await import('./sqlite/images.ts');
  const { createSqliteState } = await import('./sqlite/state.ts');
  const { createLocalLocks } = await import('./local/locks.ts');
  const { createLocalRateLimiter } = await import('./local/rate-limiter.ts');
  const database = await openDatabase(runtime.openSqlite, url.slice('sqlite:'.length));
  return {
    proxies: createSqliteProxies(database),
    images: createSqliteImages(database),
    state: createSqliteState(database),
    locks: createLocalLocks(),
    limiter: createLocalRateLimiter({ now: Date.now }),
    close: async () => database.close(),
  };
}

async function openRedisMetadata(url: string, runtime: Runtime): Promise<Metadata> {
  const { openRedis } = await import('./redis/connection.ts');
  const { createRedisProxies } = await import('./redis/proxies.ts');
  const { createRedisImages } = await import('./redis/images.ts');
  const { createRedisState } = await import('./redis/state.ts');
  const { createRedisLocks } = await import('./redis/locks.ts');
  const { createRedisRateLimiter } = await import('./redis/rate-limiter.ts');
  const { withFallback } = await import('./redis/fallback-limiter.ts');
  const { createLocalRateLimiter } = await import('./local/rate-limiter.ts');
  const { openProxyReplica } = await import('./sqlite/proxy-replica.ts');
  const redis = await openRedis(url);
  return {
    proxies: createRedisProxies(redis, () => openProxyReplica(runtime.openSqlite)),
    images: createRedisImages(redis),
    state: createRedisState(redis),
    locks: createRedisLocks(redis),
    limiter: withFallback(createRedisRateLimiter(redis), createLocalRateLimiter({ now: Date.now })),
    close: () => redis.close(),
  };
}

async function openBlobs(url: string, runtime: Runtime, credentials?: Credentials): Promise<BlobStore> {
  if (url.startsWith('s3:')) return openS3Blobs(url, credentials);
  if (!url.startsWith('file:'))
    throw new AppError('unavailable', `No adapter opens ${new URL(url).protocol} URLs.`);
  const { createFolderBlobs } = await import('./filesystem/blobs.ts');
  return createFolderBlobs({ folder: url.slice('file:'.length), fileBody: runtime.fileBody });
}

async function openS3Blobs(url: string, credentials?: Credentials): Promise<BlobStore> {
  const { accessKeyId, secretAccessKey } = credentials ?? {};
  if (!accessKeyId || !secretAccessKey) {
    const message =
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set where BLOBS_URL begins with s3:.';
    throw new AppError('unavailable', message);
  }
  const { createS3Blobs } = await import('./s3/blobs.ts');
  return createS3Blobs(url, { accessKeyId, secretAccessKey });
}

/** Whether two URLs name the same records, or the same files, in other words. */
export async function isSameStore(one: string, other: string): Promise<boolean> {
  return isDeepStrictEqual(await placeOf(one), await placeOf(other));
}

async function placeOf(url: string): Promise<unknown[]> {
  if (/^rediss?:/.test(url)) {
    const { host, port, database, prefix } = (await import('./redis/url.ts')).parseRedisUrl(url);
    return [host.toLowerCase(), port, database, prefix];
  }
  if (url.startsWith('s3:')) {
    const { endpoint, bucket, prefix } = (await import('./s3/url.ts')).parseS3Url(url);
    return [endpoint && new URL(endpoint).host, bucket, prefix];
  }
  const path = resolve(url.slice(url.indexOf(':') + 1));
  return [await realpath(path).catch(() => path)];
}
