import { expect, test } from 'bun:test';
import { once } from '../../src/lib/once.ts';

test('what is made once is shared, and tried again after a failure', async () => {
  let tries = 0;
  const get = once(async () => {
    tries++;
    if (tries === 1) throw new Error('too many open files');
    return { tries };
  });
  await expect(Promise.all([get(), get()])).rejects.toThrow('too many open files');
  const [one, other] = await Promise.all([get(), get()]);
  expect(one).toEqual({ tries: 2 });
  expect(other).toBe(one);
});
