/** Yields slices of at most `size` items, in order. */
export function* slices<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let first = 0; first < items.length; first += size) yield items.slice(first, first + size);
}

/**
 * Yields everything in batches of `size` items: `read` returns those after the last item of the previous batch, which
 * is `undefined` at first. A batch that is not full is the last.
 */
export async function* batches<T>(
  size: number,
  read: (last: T | undefined) => Promise<T[]>,
): AsyncGenerator<T[]> {
  let last: T | undefined;
  for (;;) {
    const batch = await read(last);
    if (batch.length > 0) yield batch;
    if (batch.length < size) return;
    last = batch.at(-1);
  }
}
