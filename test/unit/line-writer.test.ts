import { expect, test } from 'bun:test';
import { createLineWriter } from '../../src/lib/logger.ts';

test('lines are written together after a while, when there are many, or on request', async () => {
  const written: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const lines = createLineWriter({
    write(text) {
      written.push(text);
      resolve();
    },
    everyMs: 1,
    maxWaiting: 10,
  });
  lines.write('a');
  lines.write('b');
  expect(written).toEqual([]);
  await promise;
  expect(written).toEqual(['a\nb\n']);
  lines.write('0123456789');
  expect(written.at(-1)).toBe('0123456789\n');
  lines.write('c');
  lines.flush();
  lines.flush();
  expect(written).toEqual(['a\nb\n', '0123456789\n', 'c\n']);
});
