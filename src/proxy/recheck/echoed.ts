import type { JudgeState } from '../check/checker.ts';
import type { ProxyStore } from '../store.ts';

/** Before anything else that is due. */
const FIRST = 0;

/**
 * Creates a task that checks whether a witness is available again. If so, the proxies that were listed only
 * by what they echoed are checked next.
 */
export function createEchoedRecall(
  store: Pick<ProxyStore, 'stream' | 'reschedule'>,
  judges: () => JudgeState,
): (signal?: AbortSignal) => Promise<void> {
  let recalled = false;
  return async (signal) => {
    if (judges().witnesses.state !== 'up') {
      recalled = false;
      return;
    }
    if (recalled) return;
    for await (const batch of store.stream({ status: 'alive', proofs: ['echoed'] })) {
      for (const { id } of batch) {
        if (signal?.aborted) return;
        await store.reschedule(id, FIRST);
      }
    }
    recalled = true;
  };
}
