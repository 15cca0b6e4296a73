import { afterAll, expect, test } from 'bun:test';
import { createHash, randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readHashList } from '../../src/moderation/hash-list.ts';

const MILLION = 1_000_000;
const path = join(tmpdir(), `picpool-hashes-${process.pid}`);
afterAll(() => rm(path, { force: true }));

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const md5 = (text: string) => createHash('md5').update(text).digest('hex');

test('a list has what its lines say, in either spelling, and nothing else', async () => {
  await writeFile(
    path,
    [
      '# list of a hotline',
      sha256('a'),
      `${sha256('b').toUpperCase()}  b.jpg`,
      md5('c'),
      `${md5('d')} *d.png`,
      md5('c'),
      '',
      `x${sha256('e')}`,
      sha256('f').slice(1),
      'x'.repeat(100_000),
    ].join('\n'),
  );
  const list = await readHashList(path);
  expect(list.size).toBe(4);
  expect(['a', 'b', 'e', 'f'].map((text) => list.has(sha256(text)))).toEqual([true, true, false, false]);
  expect(['a', 'c', 'd'].map((text) => list.has(md5(text)))).toEqual([false, true, true]);
  expect([list.has(''), list.has('0'.repeat(64)), list.has('0'.repeat(32))]).toEqual([false, false, false]);
});

test('a list is read as other programs write it, and a file without any hash is an error', async () => {
  for (const text of [
    `\ufeff${sha256('a')}\r\n`,
    `${sha256('a')},name\n`,
    `\\${sha256('a')}  new\\nline\n`,
  ]) {
    await writeFile(path, text);
    expect((await readHashList(path)).has(sha256('a'))).toBe(true);
  }
  await writeFile(path, Buffer.from(`\ufeff${sha256('a')}\r\n`, 'utf16le'));
  const error = await readHashList(path).then(
    () => null,
    ({ message }) => message,
  );
  expect(error).toContain('has no SHA-256 or MD5');
});

test('an empty list has nothing, and a missing one is an error', async () => {
  await writeFile(path, '');
  expect((await readHashList(path)).has(sha256('a'))).toBe(false);
  const error = await readHashList(`${path}-missing`).then(
    () => null,
    ({ code }) => code,
  );
  expect(error).toBe('ENOENT');
});

test('a million hashes take 64 MB at most, and a look 1 ms', async () => {
  const hashes = randomBytes(32 * MILLION);
  const hashAt = (number: number) => hashes.toString('hex', number * 32, number * 32 + 32);
  await writeFile(path, Array.from({ length: MILLION }, (_, number) => `${hashAt(number)}\n`).join(''));
  Bun.gc(true);
  const before = process.memoryUsage();
  const list = await readHashList(path);
  Bun.gc(true);
  const after = process.memoryUsage();
  // Bun counts the memory of arrays in the heap.
  const bytes = after.heapUsed - before.heapUsed;
  expect(list.size).toBe(MILLION);
  expect(bytes).toBeLessThan(64_000_000);
  const began = performance.now();
  for (let number = 0; number < 1000; number++) {
    expect(list.has(hashAt(number * 999))).toBe(true);
    expect(list.has(sha256(`${number} is not there`))).toBe(false);
  }
  const ms = (performance.now() - began) / 2000;
  expect(ms).toBeLessThan(1);
  console.info(
    `a list of a million: ${Math.round(bytes / 1e6)} MB, ${ms.toFixed(4)} ms a look with its hash`,
  );
}, 60_000);
