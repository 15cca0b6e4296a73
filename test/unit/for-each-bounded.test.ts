import { describe, expect, test } from 'bun:test';
import { forEachBounded } from '../../src/lib/for-each-bounded.ts';

describe('forEachBounded', () => {
  test('runs everything, never more than the limit at once', async () => {
    let running = 0;
    let most = 0;
    const done: number[] = [];
    await forEachBounded(Array.from({ length: 300 }).keys(), 20, async (item) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, item % 3));
      running--;
      done.push(item);
    });
    expect(most).toBe(20);
    expect(done.length).toBe(300);
  });

  test('takes no more items after an error, waits for running ones, then throws it', async () => {
    const started: number[] = [];
    let ended = 0;
    const failing = forEachBounded([1, 2, 3, 4, 5, 6], 2, async (item) => {
      started.push(item);
      await new Promise((resolve) => setTimeout(resolve, 1));
      ended++;
      if (item === 1) throw new Error('first');
    });
    await expect(failing).rejects.toThrow('first');
    expect(started.length).toBeLessThan(6);
    expect(ended).toBe(started.length);
  });

  test('takes no more items after an abort', async () => {
    const stop = new AbortController();
    const started: number[] = [];
    await forEachBounded(
      [1, 2, 3, 4],
      1,
      async (item) => {
        started.push(item);
        if (item === 2) stop.abort();
      },
      stop.signal,
    );
    expect(started).toEqual([1, 2]);
  });
});
