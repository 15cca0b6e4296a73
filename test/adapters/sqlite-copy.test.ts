import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCopy } from '../../adapters/sqlite/database.ts';
import { createProxyReplica } from '../../adapters/sqlite/proxy-replica.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { draft } from '../support/records.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picpool-copy-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('a copy gets its indexes on another thread; then its file has no name, and it answers and follows', async () => {
  const copy = await openCopy(bunRuntime.openSqlite, folder, bunRuntime.openSqliteThread);
  const indexes = () =>
    copy
      .prepare<{ name: string }>(
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'proxies'",
      )
      .all()
      .map(({ name }) => name)
      .sort();
  const all = indexes();
  const replica = createProxyReplica(copy);
  expect(indexes()).toHaveLength(1);
  const records = Array.from({ length: 3000 }, (_, index) => ({
    ...draft({
      ip: `20.0.${index >> 8}.${index & 255}`,
      uptime: index / 3000,
      country: index % 2 ? 'DE' : 'FR',
    }),
    id: index + 1,
  }));
  replica.apply(records, []);
  expect(await readdir(folder)).toHaveLength(1);
  await replica.complete();
  expect(indexes()).toEqual(all);
  expect(await readdir(folder)).toEqual([]);

  const best = () => replica.find({ filter: { country: 'DE' }, sort: 'dependable', offset: 0, limit: 1 });
  expect((await best()).items[0]?.id).toBe(3000);
  expect((await best()).total).toBe(1500);
  replica.apply([], [3000]);
  expect([(await best()).items[0]?.id, (await best()).total]).toEqual([2998, 1499]);
  copy.close();
});

test('what the database says on the other thread is what the caller hears', async () => {
  const copy = await openCopy(bunRuntime.openSqlite, folder, bunRuntime.openSqliteThread);
  await expect(copy.runLong(['CREATE INDEX lost ON nowhere (at_all)'])).rejects.toThrow('no such table');
  copy.close();
});
