import { expect, test } from 'bun:test';
import { capacityOf, describeCapacity } from '../../src/codec/workers/capacity.ts';

test.each([
  [undefined, 2, 24e9, 2, false, false],
  [undefined, 32, 2 * 2 ** 30, 3, true, false],
  [undefined, 2, 2 * 2 ** 30, 2, false, false],
  [undefined, 2, 1e9, 1, true, false],
  [undefined, 2, 512 * 2 ** 20, 1, true, true],
  [8, 2, 1e9, 8, false, true],
] as const)('asked for %p on %d cores with %d bytes there are %d conversions', (...row) => {
  const [asked, cores, bytes, workers, limitedByMemory, tight] = row;
  expect(capacityOf(asked, cores, bytes)).toEqual({ workers, memoryBytes: bytes, limitedByMemory, tight });
});

test('the reason is named if memory decides', () => {
  expect(describeCapacity(capacityOf(undefined, 4, 24e9))).toBe('4 conversions at a time');
  expect(describeCapacity(capacityOf(undefined, 4, 512 * 2 ** 20))).toBe(
    '1 conversion at a time, for 512 MiB of memory',
  );
});
