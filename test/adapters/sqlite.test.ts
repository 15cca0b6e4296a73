import { describe, expect, test } from 'bun:test';
import { createSqliteAlbums } from '../../adapters/sqlite/albums.ts';
import { createSqliteAudit } from '../../adapters/sqlite/audit.ts';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteImages } from '../../adapters/sqlite/images.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { createProxyWalks } from '../../adapters/sqlite/proxy-walks.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { type ProxyFilter, SORTS } from '../../src/proxy/proxy.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { albumStoreConformance } from '../conformance/album-store.ts';
import { auditStoreConformance } from '../conformance/audit-store.ts';
import { imageLossConformance } from '../conformance/image-loss.ts';
import { imageSearchConformance } from '../conformance/image-search.ts';
import { imageStoreConformance } from '../conformance/image-store.ts';
import { proxyStoreConformance } from '../conformance/proxy-store.ts';
import { stateStoreConformance } from '../conformance/state-store.ts';
import { drafts, image } from '../support/stores/records.ts';
import { sqliteOpener } from '../support/stores/sqlite.ts';

const opener = sqliteOpener((path) => openDatabase(bunRuntime.openSqlite, path));

proxyStoreConformance(
  test,
  opener((database) => createSqliteProxies(database)),
);
imageStoreConformance(
  test,
  opener((database) => createSqliteImages(database)),
);
imageLossConformance(
  test,
  opener((database) => ({
    images: createSqliteImages(database),
    async lose(...ids) {
      // It would also count what is deleted here.
      database.prepare('DROP TRIGGER images_deleted').run();
      const text = 'DELETE FROM images WHERE ? OR id IN (SELECT value FROM json_each(?))';
      database.prepare(text).run(Number(ids.length === 0), JSON.stringify(ids));
    },
  })),
);
albumStoreConformance(test, opener(createSqliteAlbums));
auditStoreConformance(test, opener(createSqliteAudit));
stateStoreConformance(test, opener(createSqliteState));

describe('in steps so small that few rows take many', () => {
  const steps = { ids: 700, records: 300, endpoints: 200, lookups: 10, removals: 7 };
  proxyStoreConformance(
    test,
    opener((database) => createSqliteProxies(database, { steps })),
  );
  imageSearchConformance(
    test,
    opener((database) => createSqliteImages(database, { read: 2, tried: 2, added: 2 })),
  );
});

test('no filter and no order of a list looks up every proxy by an index, which takes nine times as long as reading all', async () => {
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const asked: string[] = [];
  const prepare = <Row>(sql: string) => {
    asked.push(sql);
    return database.prepare<Row>(sql);
  };
  const proxies = createSqliteProxies({ ...database, prepare });
  await proxies.save(drafts(40, (index) => ({ proof: index === 7 ? 'tls' : 'relayed' })));
  const filters: ProxyFilter[] = [
    { tampers: false },
    { proofs: ['tls'] },
    { checkedSince: 1 },
    { minUptime: 0 },
  ];
  // The index has the response time.
  const sorts = SORTS.filter((sort) => sort !== 'response_time');
  for (const filter of [{}, ...filters]) {
    for (const sort of sorts) await proxies.find({ filter, sort, offset: 0, limit: 9 });
    await proxies.sample(filter, 9);
    await Array.fromAsync(proxies.endpoints(filter));
  }
  const queries = [...new Set(asked)].filter((sql) => /FROM proxies (NOT )?INDEXED/.test(sql));
  expect(queries.length).toBeGreaterThan(filters.length * sorts.length);
  // A list, sample or export counts its matches once.
  const counts = asked.filter((sql) => /count\(\*\) AS total FROM proxies/.test(sql));
  expect(counts).toHaveLength(filters.length * (sorts.length + 2));
  const steps = queries.flatMap((sql) =>
    database.prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(),
  );
  expect(steps.filter(({ detail }) => /^SCAN proxies USING INDEX/.test(detail))).toEqual([]);
  await database.close();
});

test('other work gets its turn while the accesses of an outage are written, and old entries dropped', async () => {
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const [images, audit] = [createSqliteImages(database), createSqliteAudit(database)];
  const ids = Array.from({ length: 1500 }, (_, index) => `image${index}`);
  for (const id of ids) await audit.append({ id, at: 1, day: 1, subject: id, text: '' }, 0);
  for (const work of [async () => images.touch(new Map(ids.map((id) => [id, 1]))), () => audit.drop(2)]) {
    const turns: string[] = [];
    setImmediate(() => turns.push('other'));
    await work().then(() => turns.push('done'));
    expect(turns).toEqual(['other', 'done']);
  }
  expect(await audit.list({ limit: 1 })).toEqual([]);
  await database.close();
});

test('exports of 200,000 proxies that clients have stopped reading take 0.5 MB each at most', async () => {
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const steps = { ids: 0, records: 0, endpoints: 500 };
  const stopped = [];
  Bun.gc(true);
  const before = process.memoryUsage().heapUsed;
  for (let client = 0; client < 8; client++) {
    let last = 0;
    // Each step repeats the row that the one before it ended with, as if it had moved down.
    const select = () => Array.from({ length: 500 }, (_, index) => ({ id: last + index })) as never[];
    const none = { count: () => 0, page: () => [], ids: () => [], areRare: () => false, load: () => [] };
    const queries = { ...none, select, simplified: () => ({}) };
    const walk = createProxyWalks(database, { queries, random: () => 0, steps }).endpoints({});
    const batches = walk[Symbol.asyncIterator]();
    const sizes = new Set<number | undefined>();
    for (; last < 200_000; last += 499) sizes.add((await batches.next()).value?.length);
    expect([...sizes]).toEqual([500, 499]);
    stopped.push(batches);
  }
  Bun.gc(true);
  expect((process.memoryUsage().heapUsed - before) / stopped.length).toBeLessThan(500_000);
  await database.close();
});

test('a search for a frequent and a rare word reads the rare ones alone', async () => {
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  let asked = 0;
  const counting = {
    ...database,
    readAside: (...query: Parameters<typeof database.readAside>) => {
      asked++;
      return database.readAside(...query);
    },
  } as typeof database;
  const store = createSqliteImages(counting, { read: 2, tried: 2, added: 2 });
  for (let index = 0; index < 40; index++)
    await store.insert(
      image({ id: `${index}`.padStart(12, 'A'), filename: `trip${index}`, createdAt: index }),
    );
  await store.list({ text: 'trip 39', offset: 0, limit: 5 });
  expect(asked).toBe(1);
});

describe('with images that are not in the index of the search yet', () => {
  imageSearchConformance(
    test,
    opener((database) => {
      database.prepare('UPDATE image_index SET below = ?').run(Number.MAX_SAFE_INTEGER);
      return createSqliteImages(database, { read: 2, tried: 2, added: 2 });
    }),
  );
});
