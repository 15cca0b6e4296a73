import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, readFile, rename, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Database, openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteImages } from '../../adapters/sqlite/images.ts';
import { openLogSync } from '../../adapters/sqlite/log-sync.ts';
import { migrate } from '../../adapters/sqlite/migrate.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { migrations } from '../../adapters/sqlite/schema.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import type { Test } from '../support/runner.ts';
import { draft, drafts, image } from '../support/stores/records.ts';
import { withFile, withFolder } from '../support/temporary.ts';

const WRITER = fileURLToPath(new URL('../support/stores/sqlite-writer.ts', import.meta.url));

async function countOf(database: Database, table: string): Promise<number> {
  const rows = database.prepare<{ n: number }>(`SELECT count(*) AS n FROM ${table}_docsize`).get();
  return rows?.n ?? 0;
}

/** How long the next write of this connection waits for another one. */
function patienceMs(database: Database): number {
  return database.prepare<{ timeout: number }>('PRAGMA busy_timeout').get()?.timeout ?? 0;
}

/** What the counts must be, counted from the rows. */
async function assertConsistent(database: Database): Promise<void> {
  const [check] = database.prepare<{ integrity_check: string }>('PRAGMA integrity_check').all();
  assert.equal(check?.integrity_check, 'ok');
  const rows = database.prepare<{ n: number }>('SELECT count(*) AS n FROM proxies').get();
  assert.equal((await createSqliteProxies(database).summary()).total, rows?.n);
  const images = createSqliteImages(database);
  const { total } = await images.list({ offset: 0, limit: 1 });
  assert.equal((await images.summary()).images, total);
  assert.equal((await images.list({ text: 'image', offset: 0, limit: 1 })).total, total);
}

/**
 * What only a file shows: migrations, damage, locks, several processes, sudden death. `run` are the arguments with which
 * the runtime runs a script.
 */
export function sqliteFileTests(
  test: Test,
  { openSqlite, openSqliteThread: openThread }: Pick<Runtime, 'openSqlite' | 'openSqliteThread'>,
  run: readonly string[],
): void {
  const open = (path: string) => openDatabase(openSqlite, path, { openThread });

  async function withDatabase<T>(path: string, work: (database: Database) => Promise<T>): Promise<T> {
    const database = await open(path);
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  function startWriter(path: string, offset: number, batches: number): ChildProcess {
    return spawn(process.execPath, [...run, WRITER, path, String(offset), String(batches)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** The exit code of a writer, and what it complained of. */
  async function ending(writer: ChildProcess): Promise<[code: number | null, complaint: string]> {
    let complaint = '';
    writer.stderr?.on('data', (data) => {
      complaint += data;
    });
    const [code] = await once(writer, 'close');
    return [code, complaint];
  }

  test('records persist when the file is opened again', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'new', 'folder', 'picpool.db');
      const saved = await withDatabase(path, async (database) => {
        await createSqliteImages(database).insert(image({ id: 'a', filename: 'kept.png' }));
        await createSqliteState(database).set('key', 'value');
        return createSqliteProxies(database).save([draft()]);
      });
      await withDatabase(path, async (database) => {
        assert.deepEqual(await createSqliteProxies(database).get(saved[0]?.id ?? 0), saved[0]);
        assert.equal(
          (await createSqliteImages(database).list({ text: 'kept', offset: 0, limit: 1 })).total,
          1,
        );
        assert.equal(await createSqliteState(database).get('key'), 'value');
      });
    });
  });

  test('a last view whose server died counts as seen when the next one starts', async () => {
    await withFile(async (path) => {
      await withDatabase(path, async (database) => {
        const images = createSqliteImages(database);
        await images.insert(image({ id: 'last', maxViews: 1, viewsLeft: 1 }));
        await images.insert(image({ id: 'more', maxViews: 2, viewsLeft: 2 }));
        for (const id of ['last', 'more']) await images.takeView(id, 'token', Date.now() + 600_000);
      });
      await withDatabase(path, async (database) => {
        const images = createSqliteImages(database);
        assert.deepEqual(await images.endedBy(Date.now(), 9), []);
        await images.prepare(new AbortController().signal);
        // Not at a time, which a clock could shift.
        assert.deepEqual(
          (await images.endedBy(0, 9)).map(({ id }) => id),
          ['last'],
        );
        assert.equal((await images.get('more'))?.viewsLeft, 1);
      });
    });
  });

  test('a file with an older schema is upgraded, each step once, and keeps its rows', async () => {
    await withFile(async (path) => {
      const steps = [...migrations, ['CREATE TABLE added (x)'], ['INSERT INTO added VALUES (1)']];
      await withDatabase(path, async (database) => {
        await createSqliteState(database).set('key', 'value');
        migrate(database, steps);
        migrate(database, steps);
        assert.deepEqual(database.prepare('SELECT x FROM added').all(), [{ x: 1 }]);
        assert.equal(await createSqliteState(database).get('key'), 'value');
        assert.deepEqual(database.prepare('PRAGMA user_version').get(), { user_version: steps.length });
      });
    });
  });

  test('a failed schema step changes nothing', async () => {
    await withDatabase(':memory:', async (database) => {
      const steps = [...migrations, ['CREATE TABLE half (x)', 'INSERT INTO nowhere VALUES (1)']];
      assert.throws(() => migrate(database, steps));
      assert.deepEqual(database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'half'").all(), []);
      assert.deepEqual(database.prepare('PRAGMA user_version').get(), { user_version: migrations.length });
    });
  });

  test('a file with a newer schema is refused', async () => {
    await withFile(async (path) => {
      await withDatabase(path, async (database) => database.prepare('PRAGMA user_version = 99').run());
      await assert.rejects(open(path), { code: 'unavailable', message: /schema version 99/ });
    });
  });

  test('a file that is not a database is refused and unchanged', async () => {
    await withFile(async (path, folder) => {
      const notes = 'these are notes, not a database\n'.repeat(100);
      await writeFile(path, notes);
      await assert.rejects(open(path), { code: 'unavailable', message: /not a database/ });
      assert.equal(await readFile(path, 'utf8'), notes);
      await assert.rejects(open(folder), { code: 'unavailable' });
      await assert.rejects(open(join(path, 'below', 'a-file.db')), { code: 'unavailable' });
    });
  });

  test('a full disk is reported as such, and existing records stay', async () => {
    await withDatabase(':memory:', async (database) => {
      const proxies = createSqliteProxies(database);
      await proxies.save(drafts(10));
      database.prepare('PRAGMA max_page_count = 60').run();
      const version = await proxies.version();
      await assert.rejects(proxies.save(drafts(5000)), { code: 'storage_full' });
      assert.equal((await proxies.summary()).total, 10);
      assert.equal(await proxies.version(), version);
      database.prepare('PRAGMA max_page_count = 100000').run();
      assert.equal((await proxies.save(drafts(5000))).length, 5000);
    });
  });

  test('a file locked by another connection is unavailable, and usable again afterwards', async () => {
    await withFile(async (path) => {
      await withDatabase(path, async (one) => {
        await withDatabase(path, async (two) => {
          const images = createSqliteImages(two);
          two.prepare('PRAGMA busy_timeout = 20').run();
          one.prepare('BEGIN IMMEDIATE').run();
          await assert.rejects(images.insert(image()), { code: 'unavailable', retryAfterMs: 1000 });
          assert.equal(await images.get(image().id), null);
          one.prepare('ROLLBACK').run();
          await images.insert(image());
          assert.deepEqual(await createSqliteImages(one).get(image().id), image());
        });
      });
    });
  });

  test('while another connection keeps the file locked, only the first write waits for it', async () => {
    await withFile(async (path) => {
      await withDatabase(path, async (one) => {
        await withDatabase(path, async (two) => {
          const state = createSqliteState(two);
          one.prepare('BEGIN IMMEDIATE').run();
          await assert.rejects(state.set('key', 'first'), { code: 'unavailable' });
          assert.ok(patienceMs(two) < 50);
          await assert.rejects(state.set('key', 'more'), { code: 'unavailable' });
          assert.ok(patienceMs(two) < 50);
          one.prepare('ROLLBACK').run();
          await state.set('key', 'last');
          assert.equal(await state.get('key'), 'last');
          // And the next one that finds it locked is patient again.
          assert.ok(patienceMs(two) > 300);
          one.prepare('BEGIN IMMEDIATE').run();
          const lockedAt = performance.now();
          await assert.rejects(state.set('key', 'again'), { code: 'unavailable' });
          assert.ok(performance.now() - lockedAt > 300);
          one.prepare('ROLLBACK').run();
        });
      });
    });
  });

  test('a file behind a link is opened, and writes to it are synced', async () => {
    await withFolder(async (folder) => {
      await withDatabase(join(folder, 'real.db'), (one) => createSqliteState(one).set('key', 'value'));
      await symlink(join(folder, 'real.db'), join(folder, 'link.db'));
      await withDatabase(join(folder, 'link.db'), async (database) => {
        assert.equal(await createSqliteState(database).get('key'), 'value');
        await createSqliteState(database).set('key', 'other');
        await database.onDisk();
      });
    });
  });

  test('writers that wait during a sync share the next one', async () => {
    await withFile(async (path) => {
      await assert.rejects(openLogSync(path), { code: 'unavailable' });
      await writeFile(path, '');
      await writeFile(`${path}-wal`, 'log');
      const log = await openLogSync(path);
      const first = log.done();
      assert.equal(log.done(), first);
      await Promise.resolve();
      const second = log.done();
      assert.notEqual(second, first);
      assert.equal(log.done(), second);
      await Promise.all([first, second]);
      log.close();
    });
  });

  test('a file that was removed or replaced under the server is not written until it is back', async () => {
    await withFolder(async (folder) => {
      const [path, away] = [join(folder, 'pool.db'), join(folder, 'away.db')];
      await withDatabase(path, async (database) => {
        const images = createSqliteImages(database);
        const fault = async () => (await images.faults())[0]?.text ?? '';
        await images.insert(image({ id: 'before' }));
        assert.equal(await fault(), '');
        await rename(path, away);
        for (const what of ['removed', 'replaced']) {
          if (what === 'replaced') await writeFile(path, '');
          await assert.rejects(images.insert(image({ id: what })), { code: 'unavailable' });
          assert.match(await fault(), new RegExp(`file was ${what} while the server was running`));
          assert.equal((await images.get('before'))?.id, 'before');
        }
        // By now it may be the log of a server on the other file.
        assert.notEqual((await stat(`${path}-wal`)).size, 0);
        await rename(away, path);
        await images.insert(image({ id: 'after' }));
        assert.equal(await fault(), '');
        await rename(`${path}-shm`, `${away}-shm`);
        assert.match(await fault(), /index .* was removed/);
        await rename(`${away}-shm`, `${path}-shm`);
        await unlink(`${path}-wal`);
        await assert.rejects(images.insert(image({ id: 'lost' })), { code: 'unavailable' });
        assert.match(await fault(), /log .* was removed/);
        await copyFile(path, away);
      });
      // As if the process had been killed then.
      await withDatabase(away, async (database) => {
        assert.equal((await createSqliteImages(database).get('after'))?.id, 'after');
      });
    });
  });

  test('a read-only file is unavailable', async () => {
    await withDatabase(':memory:', async (database) => {
      database.prepare('PRAGMA query_only = ON').run();
      await assert.rejects(createSqliteProxies(database).save([draft()]), { code: 'unavailable' });
    });
  });

  test('a change by another connection changes the version and the totals of searches', async () => {
    await withFile(async (path) => {
      await withDatabase(path, (one) =>
        withDatabase(path, async (two) => {
          const [proxies, images] = [createSqliteProxies(one), createSqliteImages(one)];
          const version = await proxies.version();
          assert.equal((await images.list({ text: 'cat', offset: 0, limit: 1 })).total, 0);
          await createSqliteProxies(two).save([draft()]);
          await createSqliteImages(two).insert(image({ filename: 'cat.png' }));
          // The version that was read serves for a moment.
          while ((await proxies.version()) === version) await setImmediate();
          assert.equal((await images.list({ text: 'cat', offset: 0, limit: 1 })).total, 1);
        }),
      );
    });
  });

  test('a search on the other thread sees the latest changes, also of a removed file', async () => {
    await withFile(async (path) => {
      await withDatabase(path, async (database) => {
        const images = createSqliteImages(database);
        const found = async () =>
          (await images.list({ text: 'cat', offset: 0, limit: 9 })).items.map(({ id }) => id);
        await images.insert(image({ id: 'first', filename: 'cat.png' }));
        await rename(path, `${path}-moved`);
        assert.deepEqual(await found(), ['first']);
        await rename(`${path}-moved`, path);
        await images.remove('first');
        for (let number = 0; number < 50; number++) {
          await images.insert(image({ id: `i${number}`, filename: 'cat.png' }));
          assert.deepEqual(await found(), [`i${number}`]);
          await images.remove(`i${number}`);
          assert.deepEqual(await found(), []);
        }
      });
    });
  });

  test('a search is correct before, during and after the indexing of images', async () => {
    await withDatabase(':memory:', async (database) => {
      const images = createSqliteImages(database, { read: 7, tried: 7, added: 5 });
      const setMark = database.prepare('UPDATE image_index SET below = ?');
      const insert = (number: number) =>
        images.insert(image({ id: `i${number}`, filename: `cat ${number}.png`, createdAt: number }));
      setMark.run(Number.MAX_SAFE_INTEGER);
      for (let number = 0; number < 80; number += 2) await insert(number);
      assert.equal(typeof images.preparing(), 'string');
      const totals: number[] = [];
      const stopping = new AbortController();
      const building = images.prepare(stopping.signal);
      let count = 40;
      // Between, newer and older ones come and go; some neighbours have to move up.
      for (let number = 1; images.preparing() !== null; number += 2) {
        await insert(number % 80);
        await insert(1000 + number);
        await images.remove(`i${number - 1}`);
        count += number < 80 ? 1 : 2;
        for (const text of ['cat', 'c', 'at']) {
          totals.push((await images.list({ text, offset: 0, limit: 1 })).total - count);
        }
        if (number > 78) stopping.abort();
        if (number > 78) break;
      }
      await building;
      assert.deepEqual(
        totals.filter((difference) => difference !== 0),
        [],
      );
      await images.prepare(new AbortController().signal);
      assert.equal(images.preparing(), null);
      const { total } = await images.list({ offset: 0, limit: 1 });
      for (const text of ['cat', 'c', 'at']) {
        assert.equal((await images.list({ text, offset: 0, limit: 1 })).total, total);
      }
      assert.equal(await countOf(database, 'image_text'), total);
      assert.equal(await countOf(database, 'image_short'), total);
    });
  });

  for (const ahead of [3e6, 3e10]) {
    test(`once a clock is no longer ${ahead} ms ahead, an upload does not move those from that time`, async () => {
      await withDatabase(':memory:', async (database) => {
        const images = createSqliteImages(database);
        const changes = () =>
          database.prepare<{ count: number }>('SELECT total_changes() AS count').get()?.count ?? 0;
        const insert = async (createdAt: number) => {
          const before = changes();
          await images.insert(image({ id: `i${createdAt}`, createdAt }));
          return changes() - before;
        };
        await insert(0);
        for (let number = 0; number < 300; number++) await insert(ahead + number);
        let sum = 0;
        for (let number = 1; number <= 600; number++) sum += await insert(number);
        assert.ok(sum / 600 < 120, `${sum / 600} changes`);
        const { items } = await images.list({ offset: 300, limit: 700 });
        assert.deepEqual(
          items.map(({ createdAt }) => createdAt),
          Array.from({ length: 601 }, (_, place) => 600 - place),
        );
      });
    });
  }

  test('old pictures that come at one place move few of those after them', async () => {
    await withDatabase(':memory:', async (database) => {
      const images = createSqliteImages(database);
      const changes = () =>
        database.prepare<{ count: number }>('SELECT total_changes() AS count').get()?.count ?? 0;
      for (let number = 0; number < 4000; number++) {
        await images.insert(image({ id: `i${number}`, createdAt: number * 1000 }));
      }
      let most = 0;
      for (let number = 0; number < 200; number++) {
        const before = changes();
        await images.insert(image({ id: `old${(number * 77) % 200}`, createdAt: 5500 }));
        most = Math.max(most, changes() - before);
      }
      assert.ok(most < 20_000, `${most} changes`);
      const { items } = await images.list({ offset: 3993, limit: 300 });
      const old = Array.from({ length: 200 }, (_, place) => `old${place}`).sort();
      const others = (first: number, last: number) =>
        Array.from({ length: first - last + 1 }, (_, place) => `i${first - place}`);
      assert.deepEqual(
        items.map(({ id }) => id),
        [...others(6, 6), ...old, ...others(5, 0)],
      );
    });
  });

  test('matches are counted up to ten thousand, and cursors lead to the others', async () => {
    await withDatabase(':memory:', async (database) => {
      const images = createSqliteImages(database);
      const inserts = database.transaction(() =>
        Array.from({ length: 10_040 }, (_, number) =>
          images.insert(image({ id: `i${number}`, filename: `c ${number}.png`, createdAt: number })),
        ),
      );
      await Promise.all(inserts);
      const list = (text: string, query: object) => images.list({ text, offset: 0, limit: 30, ...query });
      for (const text of ['c', 'png', '.p']) {
        const first = await list(text, {});
        assert.deepEqual([first.total, first.exact], [10_000, false]);
        const last = await list(text, { offset: 9990 });
        assert.deepEqual([last.items.length, last.items[0]?.id, last.next?.id], [30, 'i49', 'i20']);
        assert.deepEqual((await list(text, { offset: 9970 })).next?.id, 'i40');
        assert.deepEqual((await list(text, { offset: 10_020 })).items, []);
        const behind = await list(text, { after: { createdAt: 35, id: 'i35' } });
        assert.deepEqual([behind.items.length, behind.items[0]?.id, behind.next?.id], [30, 'i34', 'i5']);
        assert.deepEqual([behind.total, behind.exact], [10_000, false]);
        const end = await list(text, { after: { createdAt: 5, id: 'i5' } });
        assert.deepEqual([end.items.length, end.next], [5, null]);
      }
      const all = await images.list({ offset: 0, limit: 1 });
      assert.deepEqual([all.total, all.exact], [10_040, true]);
    });
  });

  /** Where two processes begin at once, SQLite calls the file busy without waiting; here it never waits. */
  const openImpatient =
    (onBusy: () => void): Runtime['openSqlite'] =>
    async (path) => {
      const driver = await openSqlite(path);
      return {
        exec: (sql) => driver.exec(sql),
        prepare(sql) {
          const statement = driver.prepare(sql.replace(/busy_timeout = \d+/, 'busy_timeout = 0'));
          return {
            get(...values) {
              try {
                return statement.get(...values);
              } catch (error) {
                onBusy();
                throw error;
              }
            },
            all: (...values) => statement.all(...values),
            run: (...values) => statement.run(...values),
          };
        },
        close: () => driver.close(),
      };
    };

  test('a busy file is opened once it is free', async () => {
    await withFile(async (path) => {
      const other = await openSqlite(path);
      other.exec('CREATE TABLE others (n); BEGIN');
      other.prepare('SELECT n FROM others').all();
      let tries = 0;
      const free = () => {
        if (++tries === 1) other.exec('COMMIT');
      };
      await (await openDatabase(openImpatient(free), path)).close();
      assert.equal(tries, 1);
      other.close();
    });
  });

  test('two processes that create and write one file concurrently lose nothing', async () => {
    await withFile(async (path) => {
      const writers = [startWriter(path, 0, 40), startWriter(path, 20_000, 40)];
      for (const { stdout } of writers) stdout?.resume();
      const endings = await Promise.all(writers.map(ending));
      assert.deepEqual(endings, [
        [0, ''],
        [0, ''],
      ]);
      await withDatabase(path, async (database) => {
        await assertConsistent(database);
        assert.equal((await createSqliteProxies(database).summary()).total, 4000);
        assert.equal((await createSqliteImages(database).summary()).images, 80);
      });
    });
  });

  test('a process killed during writes leaves complete batches and everything that it acknowledged', async () => {
    await withFile(async (path) => {
      let batches = 0;
      for (let round = 0; round < 3; round++) {
        const writer = startWriter(path, round * 1e8, 1e6);
        assert.ok(writer.stdout);
        let acknowledged = 0;
        for await (const _ of createInterface(writer.stdout)) {
          if (++acknowledged === 7 + round) writer.kill('SIGKILL');
        }
        assert.equal(writer.signalCode ?? (await once(writer, 'exit'))[1], 'SIGKILL');
        batches += acknowledged;
        await withDatabase(path, async (database) => {
          await assertConsistent(database);
          const { total } = await createSqliteProxies(database).summary();
          const { images } = await createSqliteImages(database).summary();
          assert.equal(total % 50, 0);
          assert.ok(images >= batches && total / 50 >= images);
          batches = images;
        });
      }
    });
  });
}
