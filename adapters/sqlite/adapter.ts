import { DIRECT, type RecordsAdapter } from '../adapter.ts';
import { pathOf } from '../local/path.ts';

const SCHEME = 'sqlite:';
const MEMORY = `${SCHEME}:memory:`;

/** Records in one file, for one process: `sqlite:./data/picpool.db`. */
export const sqlite: RecordsAdapter = {
  schemes: [SCHEME],
  shared: false,
  advice: "The file must be a picpool database that the server's user can write to.",
  path: (url) => (url === MEMORY ? null : pathOf(url)),
  check: pathOf,

  async open(url, { runtime, log }) {
    const { openDatabase } = await import('./database.ts');
    const { openChecked } = await import('./damage.ts');
    const { createSqliteProxies } = await import('./proxies.ts');
    const { createSqliteImages } = await import('./images.ts');
    const { createSqliteAlbums } = await import('./albums.ts');
    const { createSqliteAudit } = await import('./audit.ts');
    const { createSqliteState } = await import('./state.ts');
    const { createLastToken } = await import('./fences.ts');
    const { createLocalLocks } = await import('../local/locks.ts');
    const { createLocalRateLimiter } = await import('../local/rate-limiter.ts');
    const path = url.slice(SCHEME.length);
    const database = await (url === MEMORY
      ? openDatabase(runtime.openSqlite, path)
      : openChecked(runtime, path, log));
    return {
      proxies: createSqliteProxies(database),
      images: createSqliteImages(database),
      albums: createSqliteAlbums(database),
      audit: createSqliteAudit(database),
      state: createSqliteState(database),
      locks: createLocalLocks(createLastToken(database)),
      limiter: createLocalRateLimiter(),
      condition: () => DIRECT,
      close: database.close,
    };
  },

  async repair(url, { runtime }) {
    const { repairDatabase } = await import('./repair.ts');
    return repairDatabase(runtime.openSqlite, pathOf(url), new Date());
  },

  findings: async () => [],
};
