import { expect, test } from 'bun:test';
import { askPatiently } from '../../src/cli/copying.ts';
import { AppError, inEnglish } from '../../src/errors.ts';
import { CLEANUP_LOCK_TTL_MS } from '../../src/image/maintenance/cleanup.ts';
import { type SweepOptions, sweep } from '../../src/image/maintenance/sweep.ts';

function createClock() {
  const pauses: number[] = [];
  return { pauses, sleep: async (ms: number) => void pauses.push(ms) };
}

const later = new AppError('unavailable', inEnglish('Try later.'), { retryAfterMs: 2000 });
const lasting = new AppError('unavailable', 'The password is wrong.');

test('a command asks again when it has been told to try later, after the pause that it was told', async () => {
  const clock = createClock();
  const answers = [later, later, 'read'];
  const ask = async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  expect(await askPatiently(ask, clock)).toBe('read');
  expect(clock.pauses).toEqual([2000, 2000]);
});

test('a command gives up on what lasts, and in the end on what does not', async () => {
  const clock = createClock();
  await expect(askPatiently(() => Promise.reject(lasting), clock)).rejects.toBe(lasting);
  expect(clock.pauses).toEqual([]);
  await expect(askPatiently(() => Promise.reject(later), clock)).rejects.toBe(later);
  expect(clock.pauses).toHaveLength(69);
});

test('a sweep that a command asks for outlasts the lock of a copy that has died', async () => {
  const clock = createClock();
  const held = { locks: { acquire: async () => null } } as unknown as SweepOptions;
  const ask = () => sweep(held, new AbortController().signal);
  await expect(askPatiently(ask, clock)).rejects.toMatchObject({ code: 'conflict' });
  expect(clock.pauses.reduce((sum, ms) => sum + ms)).toBeGreaterThan(CLEANUP_LOCK_TTL_MS);
});
