import type { RecordsAdapter } from '../adapter.ts';

/** Records on a server or cluster that many copies share: `redis://db:6379`, `rediss:` over TLS. */
export const redis: RecordsAdapter = {
  schemes: ['redis:', 'rediss:'],
  shared: true,
  advice: 'Check the address and password in METADATA_URL, and that the server is running.',
  path: () => null,

  check: async (url) => (await import('./url.ts')).parseRedisUrl(url),

  async open(url, { runtime, folder, log }) {
    const { openRedis } = await import('./connection.ts');
    const { createRedisProxies } = await import('./proxies.ts');
    const { createRedisImages } = await import('./images.ts');
    const { agreeOnSchema } = await import('./schema.ts');
    const { createRedisAlbums } = await import('./albums.ts');
    const { createRedisAudit } = await import('./audit.ts');
    const { createRedisState } = await import('./state.ts');
    const { createRedisLocks } = await import('./locks.ts');
    const { createRedisRateLimiter } = await import('./rate-limiter.ts');
    const { withLocalFallback } = await import('../local/rate-limiter.ts');
    const { openProxyReplica } = await import('../sqlite/proxy-replica.ts');
    const { openImageReplica } = await import('../sqlite/image-replica.ts');
    const connection = await openRedis(url);
    await agreeOnSchema(connection).catch(async (error: unknown) => {
      await connection.close();
      throw error;
    });
    const proxies = createRedisProxies(connection, () => openProxyReplica(runtime, folder), log);
    const images = createRedisImages(connection, () => openImageReplica(runtime, folder), log);
    return {
      proxies,
      images,
      albums: createRedisAlbums(connection, log),
      audit: createRedisAudit(connection),
      state: createRedisState(connection),
      locks: createRedisLocks(connection),
      limiter: withLocalFallback(createRedisRateLimiter(connection)),
      condition: () => ({
        unreadable: { proxy: proxies.unreadable(), image: images.unreadable() },
        lagMs: { proxy: proxies.lagMs(), image: images.lagMs() },
      }),
      close: () => connection.close(),
    };
  },

  async openLimiter(url, log) {
    const { createLimiterAlone } = await import('./rate-limiter.ts');
    const { withLocalFallback } = await import('../local/rate-limiter.ts');
    const alone = createLimiterAlone(url);
    const onAway = (cause: unknown) =>
      log('warn', 'LIMITS_URL does not answer: each copy limits on its own', { cause });
    return {
      limiter: withLocalFallback(alone, onAway),
      ask: async () => alone.take('ready', { capacity: 1, perSecond: 1 }, 0),
      close: () => alone.close(),
    };
  },

  async findings(url) {
    const { openRedis } = await import('./connection.ts');
    const { redisFindings } = await import('./findings.ts');
    const connection = await openRedis(url);
    return redisFindings(connection).finally(() => connection.close());
  },
};
