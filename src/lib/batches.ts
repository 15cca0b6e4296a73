/** Slices of at most `size` items, in their order. */
export function* slices<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let first = 0; first < items.length; first += size) yield items.slice(first, first + size);
}

/**
 * Everything that is read `size` items at a time: `read` returns those behind the last one of the batch before, which is
 * `undefined` at the beginning. A batch that is not full ends it.
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
