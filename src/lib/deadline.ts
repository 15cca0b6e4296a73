/** Thrown if work exceeds its time limit. */
export class LateError extends Error {
  override name = 'LateError';
}

/**
 * Returns the result of the work. Rejects with a `LateError` with this message after `ms`; the work then continues,
 * and its failure is ignored.
 *
 * A process that was stopped for a while runs its timers before it reads the answers that have arrived. So the limit
 * is two timers: the second one begins only when the process runs again.
 */
export async function within<T>(
  ms: number,
  work: Promise<T>,
  words = `no response within ${ms / 1000} s`,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  let timer = setTimeout(() => {
    timer = setTimeout(() => reject(new LateError(words)), ms / 2);
  }, ms / 2);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
