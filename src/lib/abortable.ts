/**
 * Lets someone wait, one thing after the other, until they are told to stop. `Promise.race` with one promise for the stop
 * would do the same, but that promise keeps whatever came from every race until it settles: of a body, all its pieces.
 */
export interface Abortable {
  /** What the promise gives, or the reason of the stop, if that comes first. One at a time. */
  wait<T>(promise: Promise<T>): Promise<T>;
  /** Only the first reason counts. */
  stop(reason: unknown): void;
}

export function createAbortable(): Abortable {
  let stopped: { reason: unknown } | undefined;
  let reject: ((reason: unknown) => void) | undefined;

  return {
    wait: (promise) =>
      new Promise((resolve, refuse) => {
        reject = refuse;
        promise.then(resolve, refuse);
        if (stopped) refuse(stopped.reason);
      }),
    stop(reason) {
      stopped ??= { reason };
      reject?.(stopped.reason);
    },
  };
}
