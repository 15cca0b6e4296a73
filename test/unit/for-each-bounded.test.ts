import { describe, expect, test } from 'bun:test';
import { forEachBounded } from '../../src/lib/for-each-bounded.ts';
import { every } from '../../src/lib/schedule.ts';

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

  test('draws no more after an error, waits for what runs, then throws it', async () => {
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

  test('draws no more once the signal aborts', async () => {
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

describe('every', () => {
  test('never overlaps, survives errors, and stops when the running turn has ended', async () => {
    let running = 0;
    let most = 0;
    let turns = 0;
    const errors: unknown[] = [];
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    const repetition = every(
      1,
      async () => {
        most = Math.max(most, ++running);
        await new Promise((done) => setTimeout(done, 5));
        running--;
        if (++turns === 4) resolve();
        if (turns === 2) throw new Error('second');
      },
      (error) => errors.push(error),
    );
    await enough;
    await repetition.stop();
    const before = turns;
    expect([most, running, errors.length]).toEqual([1, 0, 1]);
    await new Promise((done) => setTimeout(done, 10));
    expect(turns).toBe(before);
  });

  test('leaves out more and more turns while it fails', async () => {
    const { promise: fifth, resolve } = Promise.withResolvers<void>();
    let failures = 0;
    const startedAt = performance.now();
    const fail = async () => {
      throw new Error('again');
    };
    const repetition = every(1, fail, () => ++failures === 5 && resolve());
    await fifth;
    await repetition.stop();
    // 5 runs, and between them 1, 3, 7 and 15 turns of a millisecond.
    expect(performance.now() - startedAt).toBeGreaterThan(25);
  });
});
