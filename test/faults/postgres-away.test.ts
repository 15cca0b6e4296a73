import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { createReplicaConnection, openPostgres } from '../../adapters/postgres/connection.ts';
import { createImageList } from '../../adapters/postgres/image-list.ts';
import { createPostgresImages } from '../../adapters/postgres/images.ts';
import { migrate } from '../../adapters/postgres/migrate.ts';
import { createReadsElsewhere, withListElsewhere } from '../../adapters/postgres/read-elsewhere.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { withSchema } from '../support/postgres.ts';
import { type PostgresPair, startPostgresPair } from '../support/postgres-server.ts';
import { QUIET, upload } from '../support/quiet-server.ts';
import { image } from '../support/records.ts';
import { startServer } from '../support/server-process.ts';
import { until } from '../support/services.ts';

// That Postgres is away or hangs takes longer: see `test/faults/whole/postgres-away.ts`.

setDefaultTimeout(120_000);

let pair: PostgresPair;
beforeAll(async () => {
  pair = await startPostgresPair();
});
afterAll(() => pair?.stop());

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

test('when the primary dies and its replica is promoted, copies follow, and nothing acknowledged is lost', async () => {
  const server = await startServer('bun', { ...QUIET, METADATA_URL: pair.url });
  const elsewhere = await openElsewhere();
  await elsewhere.images.insert(image({ id: 'kept' }));
  await until(async () => (await elsewhere.total()) === 1 && elsewhere.seen.asked > 0);
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
    // Lists of a copy that knows the replica go on.
    expect(await elsewhere.total('png')).toBe(1);
    await pair.promote();
    await until(() => acknowledged.length >= before + 6);
    over = true;
    await clients;
    expect([...statuses].filter((status) => ![201, 503].includes(status))).toEqual([]);
    for (const id of acknowledged) expect((await fetch(`${server.url}/api/info/${id}`)).status).toBe(200);
  } finally {
    await elsewhere.close();
    await server.stop();
  }
});
