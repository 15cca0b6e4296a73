import type { JudgeState } from '../check/checker.ts';
import type { ProxyStore } from '../store.ts';

/** Before whatever else is due. */
const FIRST = 0;

/**
 * A task that looks whether a witness can be had again; if so, the proxies that were listed on their word alone are the
 * next to be checked.
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
