import { expect, test } from 'bun:test';
import { cachedFor, createAnswerCache } from '../../src/lib/answer-cache.ts';

test('an answer is used until its life is over, or the clock is set back by as much', async () => {
  let now = 1000;
  let asked = 0;
  const answer = cachedFor(
    100,
    () => now,
    async () => ++asked,
  );
  expect([await answer(), await answer()]).toEqual([1, 1]);
  now = 1099;
  expect(await answer()).toBe(1);
  now = 1100;
  expect(await answer()).toBe(2);
  now = 900;
  expect(await answer()).toBe(3);
});

test('concurrent callers share a question', async () => {
  const cache = createAnswerCache<string>({ lifeMs: 100, now: () => 0 });
  const { promise, resolve } = Promise.withResolvers<string>();
  const [one, other] = [cache.get('a', () => promise), cache.get('a', () => Promise.reject(new Error()))];
  resolve('yes');
  expect(await Promise.all([one, other])).toEqual(['yes', 'yes']);
});

test('a failure is not cached, and does not remove a later answer', async () => {
  const cache = createAnswerCache<string>({ lifeMs: 100, now: () => 0 });
  const { promise, reject } = Promise.withResolvers<string>();
  const failing = cache.get('a', () => promise);
  cache.set('a', 'written');
  reject(new Error('away'));
  await expect(failing).rejects.toThrow('away');
  expect(await cache.get('a', async () => 'asked')).toBe('written');
  cache.delete('a');
  await expect(cache.get('a', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await cache.get('a', async () => 'asked')).toBe('asked');
});

test('the oldest answers are forgotten if there are too many', async () => {
  const cache = createAnswerCache<string>({ lifeMs: 100, most: 2, now: () => 0 });
  for (const key of ['a', 'b', 'c']) await cache.get(key, async () => 'old');
  expect(await Promise.all(['c', 'b', 'a'].map((key) => cache.get(key, async () => 'new')))).toEqual([
    'old',
    'old',
    'new',
  ]);
});
