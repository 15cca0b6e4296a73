import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { createPostgresAlbums } from '../../../adapters/postgres/albums.ts';
import { createPostgresAudit } from '../../../adapters/postgres/audit.ts';
import { arrayOf, openPostgres, type PostgresConnection } from '../../../adapters/postgres/connection.ts';
import { createImageList } from '../../../adapters/postgres/image-list.ts';
import { createPostgresImages } from '../../../adapters/postgres/images.ts';
import { createPostgresLocks } from '../../../adapters/postgres/locks.ts';
import { migrate } from '../../../adapters/postgres/migrate.ts';
import { createPostgresProxies } from '../../../adapters/postgres/proxies.ts';
import { createPostgresRateLimiter } from '../../../adapters/postgres/rate-limiter.ts';
import { createPostgresState } from '../../../adapters/postgres/state.ts';
import { codeOf } from '../../../adapters/server-errors.ts';
import { openProxyReplica } from '../../../adapters/sqlite/proxy-replica.ts';
import type { ImageRecord } from '../../../src/image/image.ts';
import type { Page, Place } from '../../../src/image/store.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Runtime } from '../../../src/runtime/runtime.ts';
import { albumStoreConformance } from '../../conformance/album-store.ts';
import { auditStoreConformance } from '../../conformance/audit-store.ts';
import { imageExpiryConformance } from '../../conformance/image-expiry.ts';
import { imageLossConformance } from '../../conformance/image-loss.ts';
import { imageSearchConformance } from '../../conformance/image-search.ts';
import { imageStoreConformance } from '../../conformance/image-store.ts';
import { serverLocksConformance } from '../../conformance/locks.ts';
import { proxyStoreConformance } from '../../conformance/proxy-store.ts';
import { rateLimiterConformance } from '../../conformance/rate-limiter.ts';
import { stateStoreConformance } from '../../conformance/state-store.ts';
import { type Open, storeTest, type Test, whenRead } from '../runner.ts';
import { image } from './records.ts';

/** All that holds rows from one test to the next. */
const TABLES = [
  ...['state', 'fences', 'locks', 'limits', 'proxies', 'proxies_gone', 'proxy_marks'],
  ...['images', 'image_text', 'image_counts', 'image_views', 'tombstones', 'albums', 'audit'],
];

const newSchema = () => `t${randomBytes(8).toString('hex')}`;

/** The URL with a schema that no one else uses. */
export function withSchema(url: string, schema = newSchema()): string {
  const own = new URL(url);
  own.searchParams.set('schema', schema);
  return own.href;
}

/** A busy machine must not fail a test. */
const PATIENT = { limitMs: 20_000 };

const CONNECTIONS = 10;

/** Ends the last statement of every connection in the pool between its rows, after which the driver leaves holes. */
export async function failBetweenRows({ ask }: PostgresConnection): Promise<void> {
  const text = 'SELECT 1 / (4 - i) FROM generate_series(1, 9) AS i WHERE $1';
  const failures = Array.from({ length: CONNECTIONS }, () =>
    ask('never', text, [true]).catch((error: unknown) => codeOf(error)),
  );
  for (const code of await Promise.all(failures)) assert.equal(code, '22012');
}

/** Tables that tests take in turn: to make them takes longer than most tests. */
export function createTestTables(url: () => Promise<string>) {
  let opening: Promise<PostgresConnection> | null = null;
  const free: PostgresConnection[] = [];

  async function make(): Promise<PostgresConnection> {
    opening ??= url().then((url) => openPostgres(url, PATIENT));
    const schema = newSchema();
    const connection = { ...(await opening), table: (name: string) => `"${schema}".${name}` };
    await migrate(connection);
    return connection;
  }

  async function empty({ ask, table }: PostgresConnection): Promise<void> {
    const deletes = TABLES.map((name) => `DELETE FROM ${table(name)}`);
    await ask('safe', [...deletes, `UPDATE ${table('proxy_head')} SET version = 1, horizon = 0`].join(';'));
  }

  return {
    /** A connection, shared by all, with empty tables that nobody else uses until they are given back. */
    async take() {
      const connection = free.pop() ?? (await make());
      await failBetweenRows(connection);
      const close = async () => {
        await empty(connection);
        free.push(connection);
      };
      return { connection, close };
    },
    async close() {
      await (await opening)?.close();
    },
  };
}

type TestTables = ReturnType<typeof createTestTables>;

/** A store over tables of its own for each test. */
function openerOf(tables: TestTables) {
  return <T>(create: (connection: PostgresConnection) => T): Open<T> =>
    async () => {
      const { connection, close } = await tables.take();
      return { store: create(connection), close };
    };
}

/** The suites of all that is small. */
export function postgresConformance(test: Test, tables: TestTables): void {
  const opener = openerOf(tables);
  albumStoreConformance(test, opener(createPostgresAlbums));
  auditStoreConformance(test, opener(createPostgresAudit));
  stateStoreConformance(test, opener(createPostgresState));
  serverLocksConformance(
    test,
    opener((connection) => [createPostgresLocks(connection), createPostgresLocks(connection)] as const),
  );
  rateLimiterConformance(
    test,
    opener((connection) => ({
      limiter: createPostgresRateLimiter(connection),
      advance: (ms: number) => systemClock.sleep(ms),
    })),
  );
  imageExpiryConformance(
    test,
    opener((connection) => createPostgresImages(connection)),
  );
}

export function postgresImagesConformance(test: Test, tables: TestTables): void {
  const opener = openerOf(tables);
  imageStoreConformance(
    test,
    opener((connection) => createPostgresImages(connection)),
  );
  imageLossConformance(
    test,
    opener((connection) => ({
      images: createPostgresImages(connection),
      lose: (...ids) =>
        connection.ask('safe', `DELETE FROM ${connection.table('images')} WHERE $1 OR id = ANY($2::text[])`, [
          ids.length === 0,
          arrayOf(ids),
        ]),
    })),
  );
}

/** The suite of the pool, whose lists are answered by a copy in SQLite. */
export function postgresPoolConformance(test: Test, tables: TestTables, runtime: Runtime): void {
  const openReplica = () => openProxyReplica(runtime, tmpdir());
  proxyStoreConformance(
    test,
    whenRead(
      openerOf(tables)((connection) => createPostgresProxies(connection, openReplica, { batch: 300 })),
      (proxies) => proxies.summary(),
    ),
  );
}

/** The search once more, with so few rows at once that it has to go further and to ask its index. */
export function smallStepsConformance(test: Test, tables: TestTables): void {
  const steps = { window: 2, countMs: 10_000 };
  imageSearchConformance(
    test,
    openerOf(tables)((connection) => createPostgresImages(connection, createImageList(connection, steps))),
  );
}

/** The search if no count of matches ends in time. */
export function cutCountConformance(runner: Test, tables: TestTables): void {
  const test = storeTest(
    runner,
    openerOf(tables)((connection) =>
      createPostgresImages(
        connection,
        createImageList({ ...connection, askWithin: async () => null }, { window: 2 }),
      ),
    ),
  );

  test('counts that take too long are left out, and the total is what is known', async (store) => {
    for (let index = 0; index < 9; index++)
      await store.insert(image({ id: `i${index}`, filename: 'harbour.png', createdAt: index }));
    const first = await store.list({ text: 'harbour', offset: 0, limit: 1 });
    assert.deepEqual(
      { ids: first.items.map(({ id }) => id), total: first.total, exact: first.exact },
      { ids: ['i8'], total: 2, exact: false },
    );
    const ids: string[] = [];
    for (let next: Place | null = null; ; ) {
      const page: Page<ImageRecord> = await store.list({
        text: 'harbour',
        offset: 0,
        limit: 2,
        ...(next && { after: next }),
      });
      ids.push(...page.items.map(({ id }) => id));
      next = page.next;
      if (next === null) break;
    }
    assert.deepEqual(ids, ['i8', 'i7', 'i6', 'i5', 'i4', 'i3', 'i2', 'i1', 'i0']);
  });

  test('a text that is in few images is counted without it', async (store) => {
    for (let index = 0; index < 9; index++)
      await store.insert(image({ id: `i${index}`, filename: `${index}.png`, createdAt: index }));
    await store.insert(image({ id: 'old', filename: 'harbour.png', createdAt: -1 }));
    const { total, exact } = await store.list({ text: 'harbour', offset: 0, limit: 1 });
    assert.deepEqual([total, exact], [1, true]);
  });
}
