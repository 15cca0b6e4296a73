import { expect, test } from 'bun:test';
import { createLineWriter } from '../../src/lib/logger.ts';

test('lines are written together after a while, when there are many, or on request', async () => {
  const written: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const lines = createLineWriter((text) => {
    written.push(text);
    resolve();
  });
  lines.write('a');
  lines.write('b');
  expect(written).toEqual([]);
  await promise;
  expect(written).toEqual(['a\nb\n']);
  const many = 'x'.repeat(64 * 1024);
  lines.write(many);
  expect(written.at(-1)).toBe(`${many}\n`);
  lines.write('c');
  lines.flush();
  lines.flush();
  expect(written).toEqual(['a\nb\n', `${many}\n`, 'c\n']);
});
