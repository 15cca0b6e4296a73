import { expect, test } from 'bun:test';
import { BoundedMap } from '../../src/lib/bounded-map.ts';

test('of too many entries, the one that was set longest ago falls out', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});
