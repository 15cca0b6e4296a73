/** Work took longer than it may. */
export class LateError extends Error {
  override name = 'LateError';
}

/**
 * Returns what the work answers. Rejects with a `LateError` of these words when that takes longer than `ms`; the work then
 * goes on, and its failure is nobody's.
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
