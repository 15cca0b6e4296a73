import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rename, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Database, openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteImages } from '../../adapters/sqlite/images.ts';
import { migrate, migrateFile } from '../../adapters/sqlite/migrate.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { spaceBeside } from '../../adapters/sqlite/reserve.ts';
import { migrations } from '../../adapters/sqlite/schema.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import type { Log } from '../../src/lib/logger.ts';
import { STATUSES } from '../../src/proxy/proxy.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import type { Test } from '../support/runner.ts';
import { draft, image } from '../support/stores/records.ts';
import { until } from '../support/stores/services.ts';
import { withFile } from '../support/temporary.ts';

const FIRST_VERSION = fileURLToPath(new URL('../fixtures/first-version.sql', import.meta.url));
const UPGRADER = fileURLToPath(new URL('../support/stores/sqlite-upgrader.ts', import.meta.url));

/** Makes the database that the first version left, with the program of SQLite: it may write tables of an index. */
async function makeFirstVersion(path: string): Promise<void> {
  await promisify(execFile)('sqlite3', ['-bail', path, `.read '${FIRST_VERSION}'`]);
}

const sizeOf = (path: string) =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

const schemaOf = (database: Database) =>
  database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all();

/** That all rows of the fixture are there, and found by every way that leads to them. */
async function assertRows(database: Database): Promise<void> {
  const proxies = createSqliteProxies(database);
  const { checks, responseMs, exitIp } = (await proxies.get(2)) ?? {};
  assert.deepEqual([checks, responseMs, exitIp], [3, 120.5, '198.51.100.7']);
  const page = { sort: 'dependable', offset: 0, limit: 10 } as const;
  const alive = await proxies.find({ filter: { status: 'alive' }, ...page });
  assert.deepEqual(
    alive.items.map(({ id, ip, protocol }) => [id, ip, protocol]),
    [
      [2, '192.0.2.2', 'socks5'],
      [1, '192.0.2.1', 'http'],
      [3, '2001:db8::1', 'socks4'],
    ],
  );
  assert.equal((await proxies.find({ filter: { countries: ['FR'] }, ...page })).total, 1);
  assert.equal((await proxies.summary()).total, 4);
  const due = await Promise.all(STATUSES.map((status) => proxies.due(1_800_000_000_000, 10, status)));
  assert.equal(due.flat().length, 4);

  const images = createSqliteImages(database);
  const found = async (text?: string) =>
    (await images.list({ ...(text !== undefined && { text }), offset: 0, limit: 10 })).items.map(({ id }) =>
      Number(id.at(-1)),
    );
  assert.deepEqual(await found(), [2, 1, 4]);
  assert.deepEqual([await found('HARBOUR'), await found('katze_50%'), await found('猫 "')], [[1], [2], [4]]);
  assert.equal((await images.get('AAAAAAAAAAA3'))?.passwordHash, '$scrypt$made-up');
  // Who sees a picture, and for how long, came later: each is as public, and lives as long, as it did.
  for (const { unlisted, expiresAt, maxViews, viewsLeft } of await images.recent({ offset: 0, limit: 10 })) {
    assert.deepEqual([unlisted, expiresAt, maxViews, viewsLeft], [0, null, null, null]);
  }
  assert.equal((await images.recent({ offset: 0, limit: 10 })).length, 4);
  assert.equal((await images.summary()).images, 3 + 1);
  assert.equal(await createSqliteState(database).get('key'), 'value');

  const [check] = database.prepare<{ integrity_check: string }>('PRAGMA integrity_check').all();
  assert.equal(check?.integrity_check, 'ok');
}

/** How databases of earlier versions are upgraded. `run` are the arguments with which the runtime runs a script. */
export function sqliteUpgradeTests(
  test: Test,
  openSqlite: Runtime['openSqlite'],
  run: readonly string[],
): void {
  async function withDatabase(path: string, work: (database: Database) => Promise<void>): Promise<void> {
    const database = await openDatabase(openSqlite, path);
    await work(database).finally(() => database.close());
  }

  test('a database of the first version keeps its rows, gets the schema of a new one, and is written to', async () => {
    await withFile(async (path) => {
      await makeFirstVersion(path);
      await withDatabase(path, async (old) => {
        await assertRows(old);
        await withDatabase(':memory:', async (fresh) => assert.deepEqual(schemaOf(old), schemaOf(fresh)));
        // Ids of the removed are not given again.
        assert.equal((await createSqliteProxies(old).save([draft({ ip: '192.0.2.9' })]))[0]?.id, 6);
        const images = createSqliteImages(old);
        await images.insert(image({ id: 'AAAAAAAAAAA6', filename: 'new harbour.png' }));
        await images.remove('AAAAAAAAAAA1');
        assert.equal((await images.list({ text: 'harbour', offset: 0, limit: 10 })).total, 1);
      });
    });
  });

  for (let version = 2; version < migrations.length; version++) {
    test(`a database of schema version ${version} keeps its rows, and gets the schema of a new one`, async () => {
      await withFile(async (path) => {
        await makeFirstVersion(path);
        const raw = await openSqlite(path);
        // Nobody else has this file open, and a failed step fails the test.
        const prepare = (sql: string) => raw.prepare(sql) as ReturnType<Database['prepare']>;
        migrate({ prepare, transaction: (work) => work() } as Database, migrations.slice(0, version));
        raw.close();
        await withDatabase(path, async (old) => {
          await assertRows(old);
          await withDatabase(':memory:', async (fresh) => assert.deepEqual(schemaOf(old), schemaOf(fresh)));
        });
      });
    });
  }

  test('an upgrade is logged and leaves a copy of the old database, which opens again', async () => {
    await withFile(async (path) => {
      await makeFirstVersion(path);
      const lines: unknown[] = [];
      const log: Log = (...line) => lines.push(line);
      for (let times = 0; times < 2; times++) await (await openDatabase(openSqlite, path, { log })).close();
      assert.deepEqual(lines, [
        ['info', 'copy of the records kept before the upgrade', { copy: `${path}-schema1` }],
        ['info', 'records upgraded', { from: 1, to: migrations.length }],
      ]);
      assert.equal((await stat(`${path}-schema1`)).mode & 0o077, 0);
      await rename(`${path}-schema1`, path);
      const raw = await openSqlite(path);
      assert.deepEqual({ ...(raw.prepare('PRAGMA user_version').get() as object) }, { user_version: 1 });
      raw.close();
      await withDatabase(path, assertRows);
    });
  });

  test('a disk without a size, such as /proc or a ramfs, has room for the copy', async () => {
    assert.equal(spaceBeside('/proc/picpool.db'), Number.POSITIVE_INFINITY);
  });

  test('no copy is kept under the name of a version that another process has just upgraded', async () => {
    await withFile(async (path, folder) => {
      await makeFirstVersion(path);
      const raw = await openSqlite(path);
      const plain = (sql: string) => raw.prepare(sql) as ReturnType<Database['prepare']>;
      const transaction = <T>(work: () => T) => work();
      const prepare = (sql: string) => {
        if (sql.startsWith('VACUUM')) migrate({ prepare: plain, transaction } as Database, migrations);
        return plain(sql);
      };
      migrateFile({ prepare, transaction } as Database, migrations, { path, log: () => {} });
      raw.close();
      assert.deepEqual(
        (await readdir(folder)).filter((name) => name.includes('schema')),
        [],
      );
    });
  });

  test('a schema step that is killed leaves the database at the old version', async () => {
    await withFile(async (path) => {
      await makeFirstVersion(path);
      const upgrader = spawn(process.execPath, [...run, UPGRADER, path], { stdio: 'inherit' });
      const ended = once(upgrader, 'exit');
      // Its changes no longer fit into memory.
      await until(async () => (await sizeOf(`${path}-wal`)) > 1e6);
      upgrader.kill('SIGKILL');
      assert.deepEqual(await ended, [null, 'SIGKILL']);
      await withDatabase(path, assertRows);
    });
  });
}
