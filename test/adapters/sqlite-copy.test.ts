import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { openCopy, openSearchedCopy } from '../../adapters/sqlite/copy.ts';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { createProxyReplica } from '../../adapters/sqlite/proxy-replica.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import type { SqliteThread } from '../../src/runtime/runtime.ts';
import { openThread as openFile } from '../../src/runtime/sqlite-thread.ts';
import { draft } from '../support/stores/records.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picpool-copy-'));
});
afterEach(() => rm(folder, { recursive: true }));

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
      status: index % 3 ? 'alive' : 'dead',
      responseMs: index % 5 ? index / 7 : null,
    }),
    id: index + 1,
  }));
  replica.apply(records, []);
  expect(await readdir(folder)).toHaveLength(1);
  await replica.complete();
  expect(indexes()).toEqual(all);
  expect(await readdir(folder)).toEqual([]);

  const one = createSqliteProxies(await openDatabase(bunRuntime.openSqlite, ':memory:'));
  await one.save(records);
  expect(await replica.summary()).toEqual(await one.summary());

  const best = () => replica.find({ filter: { countries: ['DE'] }, sort: 'dependable', offset: 0, limit: 1 });
  expect((await best()).items[0]?.id).toBe(3000);
  expect((await best()).total).toBe(1500);
  replica.apply([], [3000]);
  expect([(await best()).items[0]?.id, (await best()).total]).toEqual([2998, 1499]);
  copy.close();
});

test('errors of the database on the other thread reach the caller', async () => {
  const copy = await openCopy(bunRuntime.openSqlite, folder, bunRuntime.openSqliteThread);
  await expect(copy.runLong(['CREATE INDEX lost ON nowhere (at_all)'])).rejects.toThrow('no such table');
  copy.close();
});

const COUNT_LONG =
  'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT count(*) AS count FROM n';

test('a copy that is searched has no name, reads what was written, and lets other work go on meanwhile', async () => {
  const copy = await openSearchedCopy(bunRuntime.openSqlite, folder, bunRuntime.openSqliteThread);
  expect(await readdir(folder)).toEqual([]);
  copy.prepare('CREATE TABLE written (value TEXT)').run();
  copy.prepare('INSERT INTO written VALUES (?)').run('seen');
  expect(await copy.readAside('SELECT value FROM written')).toEqual([{ value: 'seen' }]);

  let turns = 0;
  let isCounting = true;
  const counted = copy.readAside<{ count: number }>(COUNT_LONG).finally(() => {
    isCounting = false;
  });
  while (isCounting) {
    await setImmediate();
    copy.prepare('INSERT INTO written VALUES (?)').run('meanwhile');
    turns++;
  }
  expect(await counted).toEqual([{ count: 1_000_000 }]);
  expect(turns).toBeGreaterThan(10);
  await copy.close();
});

test('a copy whose thread has ended responds by itself', async () => {
  const threads: SqliteThread[] = [];
  const openThread = (path: string) => {
    const thread = openFile(new URL('../../src/runtime/bun-sqlite-thread.ts', import.meta.url), path);
    threads.push(thread);
    return thread;
  };
  const copy = await openSearchedCopy(bunRuntime.openSqlite, folder, openThread);
  copy.prepare('CREATE TABLE written (value TEXT)').run();
  await Promise.all(threads.map((thread) => thread.close()));
  expect(await copy.readAside('SELECT value FROM written')).toEqual([]);
  expect(await copy.readAside('SELECT value FROM written')).toEqual([]);
  expect(threads).toHaveLength(1);
  expect(await readdir(folder)).toEqual([]);
  await copy.close();
});
