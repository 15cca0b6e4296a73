import type { StateStore } from '../../lib/state.ts';
import type { AccessLog } from './accesses.ts';
import type { Cleanup, CleanupReport } from './cleanup.ts';

/** After a complete cleanup, untrusted clients cannot start another one for this long. */
const REST_MS = 10 * 60_000;
/** State key: when the last such cleanup ended, in ms since 1970. */
const LAST_ASKED = 'image-cleanup-asked-at';

export interface AskedCleanupOptions {
  cleanup: Cleanup;
  accesses: Pick<AccessLog, 'flush'>;
  state: Pick<StateStore, 'get' | 'set'>;
  now: () => number;
}

/**
 * Creates a cleanup on request. Without the administrator's token, it reports that nothing was removed if a cleanup
 * in the last ten minutes was complete, so that clients cannot keep the server busy with cleanups.
 */
export function createAskedCleanup({ cleanup, accesses, state, now }: AskedCleanupOptions) {
  return async (budgetMs: number, admin: boolean): Promise<CleanupReport> => {
    const last = Number((await state.get(LAST_ASKED)) ?? 0);
    if (!admin && Math.abs(now() - last) < REST_MS) return { removed: 0, freedBytes: 0, complete: true };
    await accesses.flush();
    const report = await cleanup.run(budgetMs);
    if (report.complete) await state.set(LAST_ASKED, String(now()));
    return report;
  };
}
