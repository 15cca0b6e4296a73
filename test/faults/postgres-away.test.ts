import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { openStores } from '../../adapters/open.ts';
import { createReplicaConnection, openPostgres } from '../../adapters/postgres/connection.ts';
import { createImageList } from '../../adapters/postgres/image-list.ts';
import { createPostgresImages } from '../../adapters/postgres/images.ts';
import { migrate } from '../../adapters/postgres/migrate.ts';
import { createReadsElsewhere, withListElsewhere } from '../../adapters/postgres/read-elsewhere.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { json } from '../support/json.ts';
import { withSchema } from '../support/postgres.ts';
import { type PostgresPair, startPostgres, startPostgresPair } from '../support/postgres-server.ts';
import { drafts, image } from '../support/records.ts';
import { startRelay } from '../support/relay.ts';
import { PNG } from '../support/running-server.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { until } from '../support/services.ts';

setDefaultTimeout(120_000);

const QUIET = {
  PROXY_JUDGES: 'http://127.0.0.1:9/',
  PROXY_SOURCES: 'file:/dev/null',
  IMAGE_WORKERS: '1',
  RATE_LIMITS: 'off',
};

async function upload({
  url,
}: ServerProcess): Promise<{ status: number; id: string; retryAfter: string | null }> {
  const answer = await fetch(`${url}/api/upload`, { method: 'POST', body: PNG });
  const { id = '' } = await json<{ id?: string }>(answer);
  return { status: answer.status, id, retryAfter: answer.headers.get('retry-after') };
}

const isReady = async ({ url }: ServerProcess) => (await fetch(`${url}/readyz`)).status === 200;

test('while Postgres is away or hangs, lists of the pool go on, and the rest is told when to come again; then all goes on', async () => {
  const postgres = await startPostgres();
  const link = await startRelay(postgres.port);
  const own = new URL(withSchema(postgres.url));
  own.port = String(link.port);
  const stores = await openStores(own.href, 'file:/nowhere', { runtime: bunRuntime });
  await stores.proxies.save(drafts(30, (index) => ({ lastChecked: Date.now(), uptime: index / 30 })));
  await stores.close();
  await postgres.kill();
  const server = await startServer('bun', { ...QUIET, METADATA_URL: own.href });
  try {
    expect(server.stderr()).toContain('(does not answer; waiting for it)');
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
      const refused = await upload(server);
      expect([name, refused.status, Number(refused.retryAfter) > 0]).toEqual([name, 503, true]);
      expect(await total()).toBe(30);
      expect((await fetch(`${server.url}/api/list?page=7`)).status).toBe(503);
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

let pair: PostgresPair;
beforeAll(async () => {
  pair = await startPostgresPair();
});
afterAll(() => pair?.stop());

test('a replica answers lists while it is fresh, the primary else, and the replica alone while the primary is away', async () => {
  const own = await startPostgresPair();
  const url = withSchema(own.primary.url);
  const replicaUrl = new URL(url);
  replicaUrl.port = String(own.replica.port);
  const primary = await openPostgres(url);
  await migrate(primary);
  const watched = createReplicaConnection(replicaUrl.href);
  let asked = 0;
  const list = createImageList(watched);
  const images = withListElsewhere(
    createPostgresImages(primary),
    (query) => {
      asked++;
      return list(query);
    },
    createReadsElsewhere(primary, watched),
  );
  const total = async (text = '') => (await images.list({ text, offset: 0, limit: 5 })).total;
  const replay = (what: 'pause' | 'resume') => watched.ask('safe', `SELECT pg_wal_replay_${what}()`);
  try {
    for (let count = 1; count <= 5; count++) {
      await images.insert(image({ id: `a${count}` }));
      expect([await total(), await total('png')]).toEqual([count, count]);
    }
    await until(async () => {
      await total();
      return asked > 0;
    });
    await replay('pause');
    await until(async () => {
      const rows = await watched.ask<{ state: string }>(
        'safe',
        'SELECT pg_get_wal_replay_pause_state() AS state',
      );
      return rows[0]?.state === 'paused';
    });
    await images.insert(image({ id: 'late' }));
    const before = asked;
    expect([await total(), asked]).toEqual([6, before]);
    await replay('resume');
    await until(async () => (await total()) === 6 && asked > before);
    await own.primary.kill();
    expect(await total('png')).toBe(6);
    await expect(images.insert(image({ id: 'none' }))).rejects.toMatchObject({ code: 'unavailable' });
  } finally {
    await Promise.all([primary.close(), watched.close()]);
    await own.stop();
  }
});

test('when the primary dies and its replica is promoted, copies follow, and nothing acknowledged is lost', async () => {
  const server = await startServer('bun', { ...QUIET, METADATA_URL: pair.url });
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
