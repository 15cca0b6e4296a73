import { expect, test } from 'bun:test';
import { BoundedMap } from '../../src/lib/bounded-map.ts';
import { createRandom } from '../support/random.ts';

test('with too many entries, the one set longest ago is removed', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});

test('above a limit that was lowered, the oldest are removed one by one', () => {
  const map = new BoundedMap<string, number>(4).set('a', 1).set('b', 2).set('c', 3).set('d', 4);
  map.most = 2;
  const sizes = [1, 2, 3].map((value) => map.set('d', value).size);
  expect([sizes, [...map.keys()]]).toEqual([
    [3, 2, 2],
    ['c', 'd'],
  ]);
});

test('the entries are always the newest ones, in the order in which they were set', () => {
  const random = createRandom(7);
  for (const most of [1, 2, 5, 40]) {
    const map = new BoundedMap<number, number>(most);
    let expected: [number, number][] = [];
    for (let step = 0; step < 3000; step++) {
      const key = Math.floor(random() * most * 3);
      const chance = random();
      if (chance < 0.01) {
        map.clear();
        expected = [];
      } else {
        expected = expected.filter(([known]) => known !== key);
        if (chance < 0.2) map.delete(key);
        else {
          map.set(key, step);
          expected = [...expected, [key, step] as [number, number]].slice(-most);
        }
      }
      expect([...map]).toEqual(expected);
    }
  }
});
