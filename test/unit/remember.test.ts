import { expect, test } from 'bun:test';
import { remember } from '../../src/lib/bounded-map.ts';

test('work is done once for each argument, again for a forgotten one, and every time for a long one', () => {
  const done: string[] = [];
  const known = remember(
    2,
    (key) => {
      done.push(key);
      return key.toUpperCase();
    },
    3,
  );
  expect(['a', 'b', 'a', 'long', 'long', 'c', 'a', 'b'].map(known)).toEqual(
    ['a', 'b', 'a', 'long', 'long', 'c', 'a', 'b'].map((key) => key.toUpperCase()),
  );
  expect(done).toEqual(['a', 'b', 'long', 'long', 'c', 'a', 'b']);
});
