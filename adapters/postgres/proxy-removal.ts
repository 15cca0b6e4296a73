import type { Fence } from '../../src/lib/locks.ts';
import type { ProxyStore } from '../../src/proxy/store.ts';
import { arrayOf } from './arrays.ts';
import type { Ask, PostgresConnection, Value } from './connection.ts';
import type { ProxyVersions } from './proxy-log.ts';

interface ProxyRemovalOptions {
  versions: Pick<ProxyVersions, 'lock' | 'bury'>;
  checkFence: (ask: Ask, fence: Fence | undefined) => Promise<void>;
  /** Number of records that one transaction removes. */
  batch: number;
  /** Applies the removals to the replica. */
  catchUp: () => Promise<void>;
}

/** Removes what the pool does not keep, one transaction at a time. */
export function createProxyRemoval(
  { table, transaction }: PostgresConnection,
  { versions, checkFence, batch, catchUp }: ProxyRemovalOptions,
): Pick<ProxyStore, 'removeDead' | 'evict'> {
  const proxies = table('proxies');

  /**
   * Removes what the statement returns, at most a batch in one transaction, until it returns nothing. `$1` is the
   * limit.
   */
  async function removeInSteps(
    named: string,
    values: readonly Value[],
    fence: Fence | undefined,
  ): Promise<number> {
    const text = `DELETE FROM ${proxies} WHERE id IN (${named}) RETURNING id`;
    for (let removed = 0; ; ) {
      const step = await transaction('never', async (ask) => {
        await checkFence(ask, fence);
        await versions.lock(ask);
        const gone = await ask<{ id: number }>(text, [batch, ...values]);
        if (gone.length > 0) await versions.bury(ask, arrayOf(gone.map(({ id }) => id)));
        return gone.length;
      });
      removed += step;
      if (step === batch) continue;
      if (removed > 0) await catchUp();
      return removed;
    }
  }

  return {
    removeDead: (before, fence) =>
      removeInSteps(
        `SELECT id FROM ${proxies} WHERE status = 'dead' AND coalesce(last_alive, first_seen) < $2 LIMIT $1`,
        [before],
        fence,
      ),

    // Worst first: dead proxies, then the last ones of the list.
    evict: (keep, fence) =>
      removeInSteps(
        `SELECT id FROM ${proxies} ORDER BY status = 'alive', uptime, response_ms DESC NULLS FIRST, id DESC
         LIMIT least($1::bigint, greatest(0, (SELECT count(*) FROM ${proxies}) - $2::bigint))`,
        [keep],
        fence,
      ),
  };
}
