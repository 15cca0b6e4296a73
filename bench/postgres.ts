/**
 * Copies over Postgres, which it starts itself:
 * `bun bench/postgres.ts pool [size]`: a new copy of a pool, and its pages against SQLite, by processor time.
 * `bun bench/postgres.ts copy [images]`: a copy for images alone beside so many, or over what `TEST_POSTGRES_URL` holds.
 * `bun bench/postgres.ts costs [requests] [images]`: what requests cost, in processor time of a copy and of Postgres.
 * `bun bench/postgres.ts uploads [turns]`: a 6-megapixel photo, records in Postgres against records in SQLite.
 * `bun bench/postgres.ts hot [seconds]`: 1,000 clients on one image and one page of the list, 4 copies; what Postgres is asked.
 * `bun bench/postgres.ts failover [kills]`: mixed requests to 4 copies that are killed in turn, 10,000 with 24 kills, while the
 * PgBouncers before the primary and its replica are killed, and then the primary, whose replica is promoted.
 */
import { readFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '../adapters/postgres/connection.ts';
import { migrate } from '../adapters/postgres/migrate.ts';
import { createPostgresProxies } from '../adapters/postgres/proxies.ts';
import { openDatabase } from '../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../adapters/sqlite/proxies.ts';
import { openProxyReplica } from '../adapters/sqlite/proxy-replica.ts';
import type { ProxyQuery, ProxyStore } from '../src/proxy/store.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { runMixedLoad } from '../test/support/clients/mixed-load.ts';
import { photo } from '../test/support/images/images.ts';
import { createRandom } from '../test/support/random.ts';
import { startFleet } from '../test/support/servers/fleet.ts';
import { startPostgresFleet, troublePostgres } from '../test/support/servers/postgres-fleet.ts';
import { cpuMsOf } from '../test/support/servers/processes.ts';
import { PNG } from '../test/support/servers/running-server.ts';
import { type ServerProcess, startServer } from '../test/support/servers/server-process.ts';
import { sharedPostgres, startPostgres } from '../test/support/stores/postgres-server.ts';
import { fillPostgres, LARGE } from './many-images.ts';
import { pool as largePool } from './pool.ts';

const QUIET = { PROXY_JUDGES: 'http://127.0.0.1:9/', PROXY_SOURCES: 'file:/dev/null', RATE_LIMITS: 'off' };
/** Requests of `copy`. */
const LISTS = 200;
const SEARCHES = 20;
const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

async function residentMiB({ pid }: ServerProcess): Promise<number> {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const QUERIES: ProxyQuery[] = [
  { filter: { status: 'alive' }, sort: 'dependable', offset: 0, limit: 50 },
  { filter: { status: 'alive', countries: ['US'] }, sort: 'dependable', offset: 0, limit: 50 },
];

/** Pages per second of processor time. */
async function rate(store: ProxyStore): Promise<number> {
  const [startedAt, before] = [performance.now(), cpuMs()];
  let pages = 0;
  while (performance.now() - startedAt < 400) {
    for (const query of QUERIES) await store.find(query);
    pages += QUERIES.length;
  }
  return (pages / (cpuMs() - before)) * 1000;
}

async function pool(size: number): Promise<void> {
  const drafts = largePool(size);
  const postgres = await startPostgres({ shared_buffers: '256MB', autovacuum: 'on' });
  const connection = await openPostgres(postgres.url);
  await migrate(connection);
  const shared = createPostgresProxies(connection, () => openProxyReplica(bunRuntime, tmpdir()));
  const local = createSqliteProxies(await openDatabase(bunRuntime.openSqlite, ':memory:'));
  const startedAt = performance.now();
  for (let first = 0; first < size; first += 1000) await shared.save(drafts.slice(first, first + 1000));
  const saved = performance.now() - startedAt;
  for (let first = 0; first < size; first += 1000) await local.save(drafts.slice(first, first + 1000));
  while ((await shared.summary().catch(() => null))?.total !== size) await Bun.sleep(20);
  const rates = { shared: [] as number[], local: [] as number[] };
  for (let round = 0; round < 5; round++) {
    rates.local.push(await rate(local));
    rates.shared.push(await rate(shared));
  }
  console.log(
    `${size} proxies: saved in ${(saved / 1000).toFixed(1)} s; pages a second of CPU, Postgres ${median(rates.shared).toFixed(0)}, SQLite ${median(rates.local).toFixed(0)}, ratio ${(median(rates.shared) / median(rates.local)).toFixed(2)}`,
  );
  const began = performance.now();
  const server = await startServer('bun', { ...QUIET, METADATA_URL: postgres.url });
  while ((await fetch(`${server.url}/api/v1/proxies`)).status !== 200) await Bun.sleep(20);
  const readyMs = performance.now() - began;
  const usedMs = await cpuMsOf(server.pid);
  await Bun.sleep(2000);
  console.log(
    `a copy: list after ${(readyMs / 1000).toFixed(1)} s, ${(usedMs / 1000).toFixed(1)} s of CPU, ${(await residentMiB(server)).toFixed(0)} MiB`,
  );
  await server.stop();
  await connection.close();
  await postgres.stop();
}

async function copy(count: number): Promise<void> {
  const postgres = await sharedPostgres(LARGE);
  const connection = await openPostgres(postgres.url, { limitMs: 600_000 });
  if (!process.env.TEST_POSTGRES_URL) await fillPostgres(connection, count);
  // The copy has a folder of its own, another one than the run before.
  await connection.ask('safe', `DELETE FROM ${connection.table('state')} WHERE key LIKE 'image-files-%'`);
  await connection.close();
  const began = performance.now();
  const server = await startServer('bun', { ...QUIET, SERVICES: 'image', METADATA_URL: postgres.url });
  while ((await fetch(`${server.url}/readyz`)).status !== 200) await Bun.sleep(20);
  console.log(`a copy for images: ready after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  // Each of these texts is in a thousandth of the images and new to the copy, the most expensive kind of search.
  const times: number[] = [];
  for (let page = 1; page <= LISTS; page++) {
    await (await fetch(`${server.url}/api/list?page=${page}`)).text();
    if (page % (LISTS / SEARCHES) !== 0) continue;
    const asked = performance.now();
    await (await fetch(`${server.url}/api/search?q=holiday_${99 + page}`)).text();
    times.push(performance.now() - asked);
  }
  console.log(
    `after ${LISTS} lists and ${SEARCHES} searches (median ${median(times).toFixed(0)} ms): ${(await residentMiB(server)).toFixed(0)} MiB`,
  );
  await server.stop();
  await postgres.stop();
}

/** What requests cost, in processor time of a copy, with its conversions, and of Postgres. */
async function costs(requests: number, images: number): Promise<void> {
  const postgres = await startPostgres({ ...LARGE, fsync: 'on', full_page_writes: 'on' });
  const connection = await openPostgres(postgres.url, { limitMs: 600_000 });
  await fillPostgres(connection, images).finally(() => connection.close());
  const server = await startServer('bun', { ...QUIET, SERVICES: 'image', METADATA_URL: postgres.url });
  const database = Number(
    (await readFile(join(postgres.folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0],
  );
  const picture = await photo(2725, 2225);
  const upload = (body: Uint8Array<ArrayBuffer>) => () =>
    fetch(`${server.url}/api/upload`, { method: 'POST', body });
  const { id } = (await (await upload(PNG)()).json()) as { id: string };
  const get = (path: (turn: number) => string) => (turn: number) => fetch(server.url + path(turn));
  const kinds: [string, number, (turn: number) => Promise<Response>][] = [
    ['one image', requests, get(() => `/i/${id}.webp`)],
    ['one page of the list', requests, get(() => '/api/list')],
    ['pages of the list', requests, get((turn) => `/api/list?page=${turn + 2}`)],
    ['searches', requests, get((turn) => `/api/search?q=holiday_${turn}`)],
    ['uploads of a 2 x 2 PNG', requests / 4, upload(PNG)],
    ['uploads of a 6-megapixel photo', 20, upload(new Uint8Array(picture))],
  ];
  for (const [name, count, send] of kinds) {
    const used = () => Promise.all([cpuMsOf(server.pid), cpuMsOf(database)]);
    const before = await used();
    let turn = 0;
    const client = async () => {
      while (turn < count) {
        const answer = await send(turn++);
        if (!answer.ok) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
        await answer.bytes();
      }
    };
    await Promise.all(Array.from({ length: 8 }, client));
    const [ofCopy = 0, ofDatabase = 0] = (await used()).map(
      (ms, place) => (ms - (before[place] ?? 0)) / count,
    );
    console.log(
      `${name}: ${ofCopy.toFixed(2)} ms of CPU of the copy, ${ofDatabase.toFixed(2)} ms of Postgres`,
    );
  }
  await server.stop();
  await postgres.stop();
}

async function uploads(turns: number): Promise<void> {
  const postgres = await startPostgres({ fsync: 'on', full_page_writes: 'on', autovacuum: 'on' });
  const picture = await photo(2725, 2225);
  const env = { ...QUIET, SERVICES: 'image' };
  const servers = {
    sqlite: await startServer('bun', env),
    postgres: await startServer('bun', { ...env, METADATA_URL: postgres.url }),
  };
  const times: Record<string, number[]> = { sqlite: [], postgres: [] };
  for (let turn = 0; turn <= turns; turn++) {
    for (const [name, { url }] of Object.entries(servers)) {
      const startedAt = performance.now();
      const answer = await fetch(`${url}/api/upload?format=jpeg`, { method: 'POST', body: picture });
      if (answer.status !== 201) throw new Error(await answer.text());
      if (turn > 0) times[name]?.push(performance.now() - startedAt);
    }
  }
  const [s, p] = [median(times.sqlite ?? []), median(times.postgres ?? [])];
  console.log(
    `6-megapixel photo: Postgres ${p.toFixed(0)} ms, SQLite ${s.toFixed(0)} ms, uploads ${(s / p).toFixed(2)}`,
  );
  await Promise.all(Object.values(servers).map((server) => server.stop()));
  await postgres.stop();
}

async function hot(seconds: number): Promise<void> {
  const postgres = await startPostgres({
    shared_preload_libraries: 'pg_stat_statements',
    max_connections: '100',
  });
  const watch = await openPostgres(postgres.url);
  await watch.ask('safe', 'CREATE EXTENSION pg_stat_statements');
  const env = {
    ...QUIET,
    METADATA_URL: postgres.url,
    SERVICES: 'image',
    BLOBS_URL: `file:${tmpdir()}/picpool-hot-${process.pid}`,
  };
  const fleet = await startFleet(Array<'bun'>(4).fill('bun'), () => env);
  const { id } = (await (
    await fetch(`${fleet.copies[0]?.url}/api/upload`, { method: 'POST', body: PNG })
  ).json()) as { id: string };
  await watch.ask('safe', 'SELECT pg_stat_statements_reset()');
  const endAt = performance.now() + seconds * 1000;
  const answers: Record<string, number> = {};
  await Promise.all(
    Array.from({ length: 1000 }, async (_, client) => {
      const copy = fleet.copies[client % 4];
      for (let turn = client; performance.now() < endAt; turn++) {
        const path = turn % 2 ? `/i/${id}.webp` : '/api/list';
        const answer = await fetch(`${copy?.url}${path}`);
        await answer.bytes();
        const key = `${path.split('/')[1]} ${answer.status}`;
        answers[key] = (answers[key] ?? 0) + 1;
        await Bun.sleep(50);
      }
    }),
  );
  const asked = await watch.ask<{ calls: number; query: string }>(
    'safe',
    `SELECT calls, left(regexp_replace(query, '\\s+', ' ', 'g'), 110) AS query FROM pg_stat_statements
     WHERE query ~ 'picpool' ORDER BY calls DESC LIMIT 8`,
  );
  console.log(`answers in ${seconds} s over 4 copies: ${JSON.stringify(answers)}`);
  for (const { calls, query } of asked)
    console.log(`${(calls / seconds / 4).toFixed(2)} a second a copy: ${query}`);
  await fleet.stop();
  await watch.close();
  await postgres.stop();
}

async function failover(kills: number): Promise<void> {
  const world = await startPostgresFleet(4);
  const startedAt = performance.now();
  let over = false;
  const troubles = troublePostgres(world, () => over, { failoverAfter: 8, everyMs: 4000, pauseMs: 3000 });
  const options = {
    concurrency: 8,
    clients: 8,
    kills,
    uploadsBetween: 100,
    random: createRandom(20_260_101),
  };
  const report = await runMixedLoad(world.fleet, options).finally(() => {
    over = true;
  });
  const requests = Object.values(report.answers).reduce((sum, count) => sum + count, 0);
  console.log(`${requests} requests in ${Math.round((performance.now() - startedAt) / 1000)} s`);
  console.log(report, await troubles);
  await world.stop();
}

const [what = 'pool', first, second] = process.argv.slice(2);
if (what === 'copy') await copy(Number(first ?? 100_000));
else if (what === 'costs') await costs(Number(first ?? 2000), Number(second ?? 100_000));
else if (what === 'uploads') await uploads(Number(first ?? 15));
else if (what === 'failover') await failover(Number(first ?? 24));
else if (what === 'hot') await hot(Number(first ?? 10));
else await pool(Number(first ?? 200_000));
console.log(`load of the machine: ${loadavg()[0]?.toFixed(1)}`);
