/** Thrown if work exceeds its time limit. */
export class LateError extends Error {
  override name = 'LateError';
}

/**
 * Returns the result of the work. Rejects with a `LateError` with this message after `ms`; the work then continues,
 * and its failure is ignored.
 */
export async function within<T>(
  ms: number,
  work: Promise<T>,
  words = `no answer within ${ms / 1000} s`,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new LateError(words)), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
