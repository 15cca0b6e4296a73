import { expect, setDefaultTimeout, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStores } from '../../adapters/open.ts';
import { createReplicaConnection, openPostgres } from '../../adapters/postgres/connection.ts';
import { createImageList } from '../../adapters/postgres/image-list.ts';
import { createPostgresImages } from '../../adapters/postgres/images.ts';
import { migrate } from '../../adapters/postgres/migrate.ts';
import { createPostgresProxies } from '../../adapters/postgres/proxies.ts';
import { createReadsElsewhere, withListElsewhere } from '../../adapters/postgres/read-elsewhere.ts';
import { openProxyReplica } from '../../adapters/sqlite/proxy-replica.ts';
import type { ImageStore } from '../../src/image/store.ts';

import type { ProxyDraft, ProxyStore } from '../../src/proxy/store.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { runMixedLoad } from '../support/clients/mixed-load.ts';
import { json } from '../support/json.ts';
import { createRandom } from '../support/random.ts';
import { startPostgresFleet, troublePostgres } from '../support/servers/postgres-fleet.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import { startRelay } from '../support/servers/relay.ts';
import { type ServerProcess, startServer, startWaiting } from '../support/servers/server-process.ts';
import { shared } from '../support/shared.ts';
import { withSchema } from '../support/stores/postgres.ts';
import { asUser, startPostgres, startPostgresPair } from '../support/stores/postgres-server.ts';
import { draft, drafts, image } from '../support/stores/records.ts';
import { until } from '../support/stores/services.ts';

setDefaultTimeout(180_000);

const pair = shared(startPostgresPair);

/** Images whose lists the replica may answer, and how often it was asked. */
async function openElsewhere() {
  const url = withSchema(pair.primary.url);
  const replicaUrl = new URL(url);
  replicaUrl.port = String(pair.replica.port);
  const primary = await openPostgres(url);
  await migrate(primary);
  const replica = createReplicaConnection(replicaUrl.href);
  const seen = { asked: 0 };
  const list = createImageList(replica);
  const counted: ImageStore['list'] = (query) => {
    seen.asked++;
    return list(query);
  };
  const reads = createReadsElsewhere(primary, replica);
  const images = withListElsewhere(createPostgresImages(primary), counted, reads);
  return {
    images,
    replica,
    seen,
    total: async (text = '') => (await images.list({ text, offset: 0, limit: 5 })).total,
    close: () => Promise.all([primary.close(), replica.close()]),
  };
}

test('a replica answers lists and searches while it is fresh, and the primary else', async () => {
  const { images, replica, seen, total, close } = await openElsewhere();
  try {
    for (let count = 1; count <= 5; count++) {
      await images.insert(image({ id: `a${count}` }));
      expect([await total(), await total('png')]).toEqual([count, count]);
    }
    await until(async () => {
      await total();
      return seen.asked > 0;
    });
    await replica.ask('safe', 'SELECT pg_wal_replay_pause()');
    await until(async () => {
      const text = 'SELECT pg_get_wal_replay_pause_state() AS state';
      return (await replica.ask<{ state: string }>('safe', text))[0]?.state === 'paused';
    });
    await images.insert(image({ id: 'late' }));
    const before = seen.asked;
    expect([await total(), seen.asked]).toEqual([6, before]);
    await replica.ask('safe', 'SELECT pg_wal_replay_resume()');
    await until(async () => (await total()) === 6 && seen.asked > before);
  } finally {
    await close();
  }
});

test('while the replica is away, /readyz says that the primary serves all lists', async () => {
  const link = await startRelay(pair.replica.port);
  const away = pair.replica.url.replace(`:${pair.replica.port}`, `:${link.port}`);
  const env = { ...QUIET, METADATA_URL: withSchema(pair.primary.url), METADATA_READ_URL: away };
  const server = await startServer('bun', env);
  const state = async () => json<{ degraded?: string[] }>(await fetch(`${server.url}/readyz`));
  try {
    expect(await state()).toMatchObject({ status: 'ready' });
    link.cut();
    const said =
      'METADATA_READ_URL does not answer: the primary serves all lists. The database does not respond. Try again in a few seconds.';
    expect(await state()).toMatchObject({ status: 'degraded', degraded: [said] });
    link.open();
    await until(async () => (await state()).degraded === undefined);
  } finally {
    await server.stop();
    await link.stop();
  }
});

test('when the primary dies and its replica is promoted, copies follow, and nothing acknowledged is lost', async () => {
  const env = { ...QUIET, METADATA_URL: pair.url, METADATA_READ_URL: pair.replica.url };
  const server = await startServer('bun', env);
  try {
    const acknowledged: string[] = [];
    const statuses = new Set<number>();
    let over = false;
    const client = async () => {
      while (!over) {
        const { status, id } = await upload(server);
        statuses.add(status);
        if (status === 201) acknowledged.push(id);
      }
    };
    const clients = Promise.all([client(), client(), client()]);
    await until(() => acknowledged.length >= 6);
    await pair.primary.kill();
    const before = acknowledged.length;
    // The replica has all that was acknowledged, and answers lists and searches.
    const search = await fetch(`${server.url}/api/search?q=webp`);
    expect(search.status).toBe(200);
    expect((await json<{ total: number }>(search)).total).toBeGreaterThanOrEqual(before);
    await pair.promote();
    await until(() => acknowledged.length >= before + 6);
    over = true;
    await clients;
    expect([...statuses].filter((status) => ![201, 503].includes(status))).toEqual([]);
    for (const id of acknowledged) expect((await fetch(`${server.url}/api/info/${id}`)).status).toBe(200);
  } finally {
    await server.stop();
  }
});

test.concurrent('a copy that stops in the middle of a transaction does not keep what it has locked from the others', async () => {
  const postgres = await startPostgres();
  const [stopped, other] = [await openPostgres(postgres.url), await openPostgres(postgres.url)];
  try {
    await migrate(stopped);
    const proxies = createPostgresProxies(other, () => openProxyReplica(bunRuntime, tmpdir()));
    const begun = Promise.withResolvers<void>();
    const work: Parameters<typeof stopped.transaction<never>>[1] = async (ask) => {
      await ask(`SELECT version FROM ${stopped.table('proxy_head')} FOR UPDATE`);
      begun.resolve();
      return new Promise(() => {});
    };
    const held = stopped.transaction('never', work, 60_000).catch((error) => error.code);
    await begun.promise;
    await until(() => saved(proxies, draft({})), 20_000);
    expect(await held).toBe('unavailable');
    await stopped.ask('safe', 'SELECT 1');
  } finally {
    await Promise.all([stopped.close(), other.close()]);
    await postgres.stop();
  }
});

test.concurrent('after a failover that loses the last writes, copies list what the new primary has', async () => {
  const lossy = await startPostgresPair({ lossy: true });
  const [writing, idle] = [await openPostgres(lossy.url), await openPostgres(lossy.url)];
  const onReplica = createReplicaConnection(lossy.replica.url);
  try {
    await migrate(writing);
    const openReplica = () => openProxyReplica(bunRuntime, tmpdir());
    const [writer, reader] = [
      createPostgresProxies(writing, openReplica),
      createPostgresProxies(idle, openReplica),
    ];
    const [kept, lost, found] = [drafts(2), drafts(4).slice(2), drafts(9).slice(4)];
    for (const draft of kept) await writer.save([draft]);
    const countOnReplica = async () =>
      (await onReplica.ask('safe', `SELECT id FROM ${onReplica.table('proxies')}`).catch(() => [])).length;
    await until(async () => (await countOnReplica()) === 2);
    await lossy.replica.kill();
    for (const draft of lost) await writer.save([draft]);
    await until(async () => (await endpointsIn(reader)).length === 4);

    await lossy.primary.kill();
    await lossy.replica.start();
    await lossy.promote();
    // More versions than the lost ones, before the other copy looks.
    for (const draft of found) await until(() => saved(writer, draft));
    const there = [...kept, ...found].map(({ ip, port }) => `${ip}:${port}`).sort();
    await until(async () => (await endpointsIn(reader)).join() === there.join());
    expect(await endpointsIn(writer)).toEqual(there);
  } finally {
    await Promise.all([writing.close(), idle.close(), onReplica.close()]);
    await lossy.stop();
  }
});

test.concurrent('a primary that comes back as a replica is not read: it may lack what was acknowledged', async () => {
  const postgres = await startPostgres();
  const connection = await openPostgres(postgres.url.replace('@', '@127.0.0.1:9,'));
  try {
    await postgres.kill();
    const signal = join(postgres.folder, 'data', 'standby.signal');
    await writeFile(signal, '');
    await (await asUser()).own(signal);
    await postgres.start();
    await expect(connection.ask('never', 'CREATE TABLE none ()')).rejects.toThrow('is read-only');
    await expect(connection.ask('safe', 'SELECT 1')).rejects.toThrow('is read-only');
  } finally {
    await connection.close();
    await postgres.stop();
  }
});

async function endpointsIn(proxies: ProxyStore): Promise<string[]> {
  const { items } = await proxies.find({ filter: {}, sort: 'first_seen', offset: 0, limit: 100 });
  return items.map(({ ip, port }) => `${ip}:${port}`).sort();
}

const saved = (proxies: ProxyStore, draft: ProxyDraft) =>
  proxies.save([draft]).then(
    () => true,
    () => false,
  );

/** An answer after this was not given up by the copy, in ms: it gives up after 5 s, and a busy machine takes its time. */
const LATEST_MS = 30_000;

const isReady = async ({ url }: ServerProcess) => (await fetch(`${url}/readyz`)).status === 200;

test.concurrent('while Postgres is away or hangs, lists of the pool go on, and other requests get Retry-After', async () => {
  const postgres = await startPostgres();
  const link = await startRelay(postgres.port);
  const own = new URL(withSchema(postgres.url));
  own.port = String(link.port);
  const stores = await openStores(own.href, 'file:/nowhere', { runtime: bunRuntime });
  await stores.proxies.save(drafts(30, (index) => ({ lastChecked: Date.now(), uptime: index / 30 })));
  await stores.close();
  await postgres.kill();
  const server = await startWaiting('bun', { ...QUIET, METADATA_URL: own.href });
  try {
    expect(server.stderr()).toContain('(not responding; waiting for it)');
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
    await postgres.start();
    await until(() => isReady(server));
    const total = async () =>
      (await json<{ total: number }>(await fetch(`${server.url}/api/v1/proxies`))).total;
    expect(await total()).toBe(30);
    const { status, id } = await upload(server);
    expect(status).toBe(201);

    const faults: [string, () => Promise<void>, () => Promise<void>][] = [
      ['it is killed', () => postgres.kill(), () => postgres.start()],
      ['it hangs', async () => link.stall(), async () => link.open()],
      ['the link is cut', async () => link.cut(), async () => link.open()],
    ];
    for (const [name, begin, end] of faults) {
      await begin();
      const refuse = async (answer: Promise<{ status: number; retryAfter: string | null }>) => {
        const startedAt = performance.now();
        const { status, retryAfter } = await answer;
        expect([name, status, Number(retryAfter) > 0]).toEqual([name, 503, true]);
        expect(performance.now() - startedAt).toBeLessThan(LATEST_MS);
      };
      const list = fetch(`${server.url}/api/list?page=7`).then(({ status, headers }) => ({
        status,
        retryAfter: headers.get('retry-after'),
      }));
      await Promise.all([refuse(upload(server)), refuse(list)]);
      expect(await total()).toBe(30);
      await end();
      await until(async () => (await upload(server)).status === 201);
      expect((await fetch(`${server.url}/i/${id}`)).status).toBe(200);
    }
  } finally {
    await server.stop();
    await link.stop();
    await postgres.stop();
  }
});

test.concurrent('when copies, PgBouncers and the primary are killed under load, nothing acknowledged is lost, and no error is another than 503', async () => {
  const world = await startPostgresFleet(2);
  try {
    let over = false;
    const troubles = troublePostgres(world, () => over, { failoverAfter: 1, everyMs: 1500, pauseMs: 500 });
    const report = await runMixedLoad(world.fleet, {
      concurrency: 6,
      clients: 1,
      kills: 2,
      uploadsBetween: 20,
      random: createRandom(3),
    }).finally(() => {
      over = true;
    });
    expect(report).toMatchObject({ lost: [], undead: [], faults: [], kills: 2 });
    expect((await troubles).withoutPrimaryMs).toBeGreaterThan(0);
  } finally {
    await world.stop();
  }
});
