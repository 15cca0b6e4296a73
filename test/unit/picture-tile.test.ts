import { expect, test } from 'bun:test';
import { pictureTile } from '../../src/image/pages/picture-rows.ts';
import { image } from '../support/stores/records.ts';

test.each([
  ['a tiny picture as it is', 14, 25, true],
  ['the beginning of a long one', 300, 3000, false],
  ['a version of a large one', 1600, 1200, false],
])('an album shows %s', (_, width, height, isWhole) => {
  const { markup } = pictureTile(image({ width, height }), '', false);
  expect([markup.includes('tile tiny'), markup.includes('?w=320')]).toEqual([isWhole, !isWhole]);
});
