import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { type Ask, openPostgres } from '../../adapters/postgres/connection.ts';
import { createPostgresImages } from '../../adapters/postgres/images.ts';
import { createPostgresProxies } from '../../adapters/postgres/proxies.ts';
import { openProxyReplica } from '../../adapters/sqlite/proxy-replica.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import {
  createTestTables,
  cutCountConformance,
  postgresConformance,
  postgresImagesConformance,
  postgresPoolConformance,
  smallStepsConformance,
} from '../support/stores/postgres.ts';
import { sharedPostgres } from '../support/stores/postgres-server.ts';
import { drafts, image } from '../support/stores/records.ts';
import { until } from '../support/stores/services.ts';

setDefaultTimeout(180_000);

let server: Awaited<ReturnType<typeof sharedPostgres>>;
const tables = createTestTables(async () => server.url);
beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(async () => {
  await tables.close();
  await server.stop();
});

postgresConformance(test.concurrent, tables);
postgresImagesConformance(test.concurrent, tables);
postgresPoolConformance(test.concurrent, tables, bunRuntime);
cutCountConformance(test.concurrent, tables);

test('a statement that the server cancels ends no other one, although several hosts are named', async () => {
  const url = new URL(server.url);
  const connection = await openPostgres(server.url.replace(url.host, `${url.host},localhost:${url.port}`));
  try {
    const other = connection.ask('never', 'SELECT 1 AS one FROM pg_sleep(0.4) WHERE $1', [true]);
    expect(await connection.askWithin(20, 'SELECT pg_sleep(10) WHERE $1', [true])).toBeNull();
    expect(await other).toEqual([{ one: 1 }]);
  } finally {
    await connection.close();
  }
});

test('pictures become public while others are hidden, and no change waits for another in a ring', async () => {
  const { connection, close } = await tables.take();
  const [begin] = await connection.ask<{ at: string }>('safe', 'SELECT clock_timestamp()::text AS at');
  const own = { ...(await openPostgres(server.url)), table: connection.table };
  const images = createPostgresImages(own);
  const ids = Array.from({ length: 40 }, (_, n) => `i${String(n).padStart(11, '0')}`);
  for (const [n, id] of ids.entries()) await images.insert(image({ id, unlisted: n % 2 === 0 ? 1 : 0 }));
  const turn = async (who: number) => {
    for (let round = 0; round < 250; round++) {
      const id = ids[(round * 8 + who) % ids.length] ?? '';
      await images.change(id, { unlisted: (who + round) % 2 === 0 ? 1 : 0 });
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, who) => turn(who)));
  await own.close();
  // What a connection has counted is known once it is gone.
  const count = async () => {
    const [row] = await connection.ask<{ open: number; deadlocks: number }>(
      'safe',
      `SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_start > $1::timestamptz)::integer AS open,
         (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database())::integer AS deadlocks`,
      [begin?.at ?? ''],
    );
    return row;
  };
  await until(async () => (await count())?.open === 0);
  expect((await count())?.deadlocks).toBe(0);
  await close();
});

test('a pool is followed while the previous version, which sets no marks, also writes', async () => {
  const { connection, close } = await tables.take();
  const { ask, table } = connection;
  const openReplica = () => openProxyReplica(bunRuntime, tmpdir());
  const [writer, reader] = [
    createPostgresProxies(connection, openReplica),
    createPostgresProxies(connection, openReplica),
  ];
  const ports = async () => {
    const { items } = await reader.find({ filter: {}, sort: 'first_seen', offset: 0, limit: 9 });
    return items.map(({ port }) => port).sort((a, b) => a - b);
  };
  const [one, two] = await writer.save(drafts(2));
  const known = [one?.port ?? 0, two?.port ?? 0];
  await until(async () => (await ports()).join() === known.join());
  await ask('never', `UPDATE ${table('proxy_head')} SET version = version + 1 WHERE $1`, [true]);
  await ask(
    'never',
    `UPDATE ${table('proxies')} SET port = 9, version = (SELECT version FROM ${table('proxy_head')}) WHERE id = $1`,
    [one?.id ?? 0],
  );
  await until(async () => (await ports()).join() === [9, two?.port].join());
  await writer.save(drafts(3).slice(2));
  await until(async () => (await ports()).length === 3);
  await close();
});

describe('in steps so small that few rows take many', () => {
  smallStepsConformance(test.concurrent, tables);
});

test('what the pool has no room for is not looked for while all writes wait, and stays if it is found working', async () => {
  const { connection, close } = await tables.take();
  const watched =
    (ask: Ask): Ask =>
    (text, values) => {
      expect(text).not.toContain('ORDER BY');
      return ask(text, values);
    };
  const transaction: typeof connection.transaction = (repeat, work) =>
    connection.transaction(repeat, (ask) => work(watched(ask)));
  const open = () => openProxyReplica(bunRuntime, tmpdir());
  const dead = drafts(20).map((one) => ({ ...one, status: 'dead' as const }));
  const found = dead.map((one) => ({ ...one, status: 'alive' as const }));
  const ask: typeof connection.ask = async (...how) => {
    const rows = await connection.ask(...how);
    if (how[1].includes('ORDER BY status')) await proxies.save(found.slice(0, 7));
    return rows as never;
  };
  const proxies = createPostgresProxies({ ...connection, ask, transaction }, open, { batch: 3 });
  await proxies.save(dead);
  expect(await proxies.evict(0)).toBe(13);
  await close();
});
