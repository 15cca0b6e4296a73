import { expect, test } from 'bun:test';
import { circles } from '../../scripts/gate/layers.ts';

test('a circle of imports is found from any of its files', () => {
  const line = { a: ['b', 'c'], b: ['c', 'd'], c: ['d'], d: [] };
  expect(circles(new Map(Object.entries(line)))).toEqual([]);
  expect(circles(new Map(Object.entries({ ...line, d: ['b'] })))).toContain(
    'imports in a circle: b -> c -> d -> b',
  );
  expect(circles(new Map([['self', ['self']]]))).toEqual(['imports in a circle: self -> self']);
});
