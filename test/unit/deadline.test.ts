import { expect, test } from 'bun:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LateError, within } from '../../src/lib/deadline.ts';

/** Stops this process, as a busy machine does. */
function stop(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('work that ends in time returns its result or its failure', async () => {
  expect(await within(60_000, Promise.resolve('done'))).toBe('done');
  await expect(within(60_000, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});

test('work that does not end fails with the given message', async () => {
  await expect(within(1, new Promise(() => {}), 'nothing came')).rejects.toEqual(
    new LateError('nothing came'),
  );
});

test('a response that arrived while the process was stopped is not late', async () => {
  const answer = within(50, sleep(60, 'an answer'));
  stop(100);
  expect(await answer).toBe('an answer');
});
