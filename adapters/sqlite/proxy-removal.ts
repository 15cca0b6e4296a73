import { setImmediate } from 'node:timers/promises';
import type { Fence } from '../../src/lib/locks.ts';
import type { ProxyStore } from '../../src/proxy/store.ts';
import type { Database } from './database.ts';
import type { ProxyQueries } from './proxy-queries.ts';
import { type Cursor, walkQuery } from './proxy-sql.ts';
import type { ProxyVersion } from './proxy-version.ts';

interface ProxyRemovalOptions {
  queries: Pick<ProxyQueries, 'select' | 'count'>;
  version: Pick<ProxyVersion, 'advance'>;
  checkFence: (fence: Fence | undefined) => void;
  /** Rows removed before other work gets its turn. */
  step: number;
}

/** Removes what the pool does not keep, one transaction at a time. */
export function createProxyRemoval(
  database: Database,
  { queries: { select, count }, version, checkFence, step }: ProxyRemovalOptions,
): Pick<ProxyStore, 'removeDead' | 'evict'> {
  const deadSince = database.prepare<{ id: number }>(
    `SELECT id FROM proxies INDEXED BY proxies_dead
     WHERE status = 'dead' AND ifnull(last_alive, first_seen) < ? LIMIT ?`,
  );
  const removeIds = database.prepare('DELETE FROM proxies WHERE id IN (SELECT value FROM json_each(?))');

  function worst(limit: number): number[] {
    const ids: number[] = [];
    for (const status of ['dead', 'alive'] as const) {
      const rows = select<Cursor>(walkQuery({ status }, limit - ids.length, null, { direction: 'DESC' }));
      ids.push(...rows.map(({ id }) => id));
    }
    return ids;
  }

  /** Removes what `next` returns until it returns nothing. */
  async function removeInSteps(next: (limit: number) => number[], fence: Fence | undefined): Promise<number> {
    for (let removed = 0; ; await setImmediate()) {
      const gone = database.transaction(() => {
        checkFence(fence);
        const ids = next(step);
        if (ids.length === 0) return 0;
        removeIds.run(JSON.stringify(ids));
        version.advance();
        return ids.length;
      });
      removed += gone;
      if (gone < step) return removed;
    }
  }

  return {
    removeDead: (before, fence) =>
      removeInSteps((limit) => deadSince.all(before, limit).map(({ id }) => id), fence),

    evict: (keep, fence) =>
      removeInSteps((limit) => worst(Math.max(0, Math.min(limit, count({}) - keep))), fence),
  };
}
