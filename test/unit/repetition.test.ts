import { afterEach, beforeEach, expect, jest, test } from 'bun:test';
import { every } from '../../src/lib/schedule.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

function neverFails(error: unknown): void {
  throw error;
}

/** Lets what a run has set in motion settle. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

async function pass(turns: number, ms: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    jest.advanceTimersByTime(ms);
    await settle();
  }
}

test('a repetition runs first after one interval, and then after each', async () => {
  let runs = 0;
  const repetition = every(1000, async () => void runs++, neverFails);
  await pass(1, 999);
  expect(runs).toBe(0);
  await pass(1, 1);
  expect(runs).toBe(1);
  await pass(3, 1000);
  expect(runs).toBe(4);
  await repetition.stop();
  await pass(3, 1000);
  expect(runs).toBe(4);
});

test('runs never overlap: turns during a run are skipped', async () => {
  const ends: (() => void)[] = [];
  const repetition = every(1000, () => new Promise<void>((resolve) => ends.push(resolve)), neverFails);
  await pass(5, 1000);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await settle();
  await pass(1, 1000);
  expect(ends).toHaveLength(2);
  ends[1]?.();
  await repetition.stop();
});

test('a stop aborts the running task, and resolves when it has ended', async () => {
  const { promise: work, resolve: end } = Promise.withResolvers<void>();
  let told = false;
  const repetition = every(
    1000,
    (signal) => {
      signal.addEventListener('abort', () => {
        told = true;
      });
      return work;
    },
    neverFails,
  );
  await pass(1, 1000);
  let stopped = false;
  const stop = repetition.stop().then(() => {
    stopped = true;
  });
  await settle();
  expect([told, stopped]).toEqual([true, false]);
  end();
  await stop;
});

test('after n failures in a row 2^n - 1 turns are skipped, for at most a minute, until a success', async () => {
  const at: number[] = [];
  let turn = 0;
  let works = false;
  let failures = 0;
  const task = async () => {
    at.push(turn);
    if (!works) throw new Error('again');
  };
  const repetition = every(10_000, task, () => failures++);
  const next = async () => {
    turn++;
    await pass(1, 10_000);
  };
  while (at.length < 5) await next();
  // Gaps of 1, 3, and then of 6: a minute.
  expect(at).toEqual([1, 3, 7, 14, 21]);
  works = true;
  while (at.length < 7) await next();
  works = false;
  while (at.length < 9) await next();
  expect(at.slice(5)).toEqual([28, 29, 30, 32]);
  expect(failures).toBe(7);
  await repetition.stop();
});
