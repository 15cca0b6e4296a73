/**
 * Waits for one promise after another until it is stopped. `Promise.race` with a promise for the stop would also work,
 * but that promise keeps the results of all races in memory until it settles: for a body, all its chunks.
 */
export function createAbortable() {
  let stopped: { reason: unknown } | undefined;
  let reject: ((reason: unknown) => void) | undefined;

  return {
    /** Resolves with the promise's value, or rejects with the reason of the stop if that comes first. One at a time. */
    wait: <T>(promise: Promise<T>): Promise<T> =>
      new Promise((resolve, refuse) => {
        reject = refuse;
        promise.then(resolve, refuse);
        if (stopped) refuse(stopped.reason);
      }),
    /** Only the first reason counts. */
    stop(reason: unknown): void {
      stopped ??= { reason };
      reject?.(stopped.reason);
    },
  };
}
