import { describe, expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { affordableSockets, lowFileLimit } from '../../src/lib/open-files.ts';
import { run } from '../support/run.ts';
import { withFolder } from '../support/temporary.ts';

const withLimit = <T>(soft: string, use: (path: string) => Promise<T>) =>
  withFolder(async (folder) => {
    const path = join(folder, 'limits');
    const line = `Max open files            ${soft}    4096    files\n`;
    await writeFile(path, `Limit  Soft Limit  Hard Limit  Units\n${line}`);
    return use(path);
  });

describe('affordableSockets', () => {
  test('a high limit allows the number wanted', async () => {
    expect(await withLimit('65536', (path) => affordableSockets(1000, path))).toBe(1000);
  });

  test('a low limit reserves descriptors for everything else', async () => {
    expect(await withLimit('1024', (path) => affordableSockets(1000, path))).toBe(512);
    expect(await withLimit('256', (path) => affordableSockets(1000, path))).toBe(56);
  });

  test('there is always one', async () => {
    expect(await withLimit('64', (path) => affordableSockets(1000, path))).toBe(1);
  });

  test('a limit that is not reached counts as no limit', async () => {
    expect(await affordableSockets(1000, '/nonexistent')).toBe(1000);
  });
});

test('a limit that a few hundred clients reach counts as low', async () => {
  expect(await withLimit('1024', lowFileLimit)).toBe(1024);
  expect(await withLimit('4096', lowFileLimit)).toBeNull();
  expect(await lowFileLimit('/nonexistent')).toBeNull();
});

test('a limit that cannot be read, as on Deno, is tried', async () => {
  const ask = "console.log(await (await import('./src/lib/open-files.ts')).lowFileLimit('/nonexistent'))";
  const limited = ['sh', '-c', 'ulimit -n 300; exec "$@"', 'sh', process.execPath, '-e', ask];
  const most = Number(await run(limited));
  expect([most > 200, most < 300]).toEqual([true, true]);
});
