import type { ImageStore } from '../../src/image/store.ts';
import type { RecordsAdapter } from '../adapter.ts';
import type { PostgresConnection } from './connection.ts';

/** Records in a database that many copies share, and that may grow beyond memory: `postgres://db:5432/picpool`. */
export const postgres: RecordsAdapter = {
  schemes: ['postgres:', 'postgresql:'],
  shared: true,
  readsElsewhere: true,
  advice: 'Check the address, password and database in METADATA_URL, and that the server is running.',
  path: () => null,

  check: async (url) => (await import('./url.ts')).parsePostgresUrl(url),

  async open(url, { runtime, folder, readUrl, log }) {
    const { openPostgres } = await import('./connection.ts');
    const { migrate } = await import('./migrate.ts');
    const { createPostgresProxies } = await import('./proxies.ts');
    const { createPostgresImages } = await import('./images.ts');
    const { withKeptLists } = await import('./kept-lists.ts');
    const { createPostgresAlbums } = await import('./albums.ts');
    const { createPostgresAudit } = await import('./audit.ts');
    const { createPostgresState } = await import('./state.ts');
    const { createPostgresLocks } = await import('./locks.ts');
    const { createPostgresRateLimiter } = await import('./rate-limiter.ts');
    const { withLocalFallback } = await import('../local/rate-limiter.ts');
    const { openProxyReplica } = await import('../sqlite/proxy-replica.ts');
    const connection = await openPostgres(url);
    await migrate(connection, undefined, undefined, log).catch(async (error: unknown) => {
      await connection.close();
      throw error;
    });
    const images = createPostgresImages(connection);
    const elsewhere = readUrl === undefined ? null : await openReads(connection, readUrl, images);
    const proxies = createPostgresProxies(connection, () => openProxyReplica(runtime, folder));
    return {
      proxies,
      images: withKeptLists(elsewhere?.images ?? images),
      albums: createPostgresAlbums(connection),
      audit: createPostgresAudit(connection),
      state: createPostgresState(connection),
      locks: createPostgresLocks(connection),
      limiter: withLocalFallback(createPostgresRateLimiter(connection)),
      condition: () => ({
        unreadable: { proxy: 0, image: 0 },
        lagMs: { proxy: proxies.lagMs(), image: 0 },
      }),
      askReads: elsewhere?.ask,
      async close() {
        await Promise.all([connection.close(), elsewhere?.close()]);
      },
    };
  },

  async findings(url) {
    const { openPostgres } = await import('./connection.ts');
    const { postgresFindings } = await import('./findings.ts');
    const connection = await openPostgres(url);
    return postgresFindings(connection).finally(() => connection.close());
  },
};

/** Opens images whose lists the server at `url` answers, which may be unavailable at the start. */
async function openReads(
  primary: PostgresConnection,
  url: string,
  images: ImageStore,
): Promise<{ images: ImageStore; ask(): Promise<unknown>; close(): Promise<void> }> {
  const { createReplicaConnection } = await import('./connection.ts');
  const { createImageList } = await import('./image-list.ts');
  const { createReadsElsewhere, withListElsewhere } = await import('./read-elsewhere.ts');
  const replica = createReplicaConnection(url);
  const reads = createReadsElsewhere(primary, replica);
  return {
    images: withListElsewhere(images, createImageList(replica), reads),
    ask: () => replica.ask('safe', 'SELECT 1'),
    close: () => replica.close(),
  };
}
