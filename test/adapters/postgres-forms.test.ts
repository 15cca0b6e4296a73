import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postgres as adapter } from '../../adapters/postgres/adapter.ts';
import { openPostgres, type PostgresConnection } from '../../adapters/postgres/connection.ts';
import { createPostgresImages } from '../../adapters/postgres/images.ts';
import { createPostgresLocks } from '../../adapters/postgres/locks.ts';
import { migrate } from '../../adapters/postgres/migrate.ts';
import { createPool } from '../../adapters/postgres/pool.ts';
import { createPostgresProxies } from '../../adapters/postgres/proxies.ts';
import { type Migration, migrations } from '../../adapters/postgres/schema.ts';
import { createPostgresState } from '../../adapters/postgres/state.ts';
import { parsePostgresUrl } from '../../adapters/postgres/url.ts';
import { openProxyReplica } from '../../adapters/sqlite/proxy-replica.ts';
import { AppError } from '../../src/errors.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { startRelay } from '../support/servers/relay.ts';
import { shared, sharedFolder } from '../support/shared.ts';
import { startPgBouncer } from '../support/stores/pgbouncer.ts';
import { withSchema } from '../support/stores/postgres.ts';
import { startPostgres, startTlsPostgres } from '../support/stores/postgres-server.ts';
import { drafts, image } from '../support/stores/records.ts';
import { until } from '../support/stores/services.ts';

setDefaultTimeout(180_000);

const PATIENT = { limitMs: 20_000 };

const openReplica = () => openProxyReplica(bunRuntime, tmpdir());

const server = shared(startTlsPostgres);
const folder = await sharedFolder();
beforeAll(async () => {
  await writeFile(join(folder, 'ca.pem'), server.certificates.ca);
  await writeFile(join(folder, 'other.pem'), server.certificates.selfSigned.cert);
});

async function withConnection<T>(
  url: string,
  work: (connection: PostgresConnection) => Promise<T>,
): Promise<T> {
  const connection = await openPostgres(url, PATIENT);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** The URL with parameters, and another user and host where they are given. */
function variant(
  parameters: Record<string, string>,
  { user, host }: { user?: string; host?: string } = {},
): string {
  const url = new URL(server.url);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  if (user !== undefined) url.username = user;
  if (host !== undefined) url.hostname = host;
  return url.href;
}

test('TLS verifies the authority and the name of the server, in every mode', async () => {
  const one = (url: string) => withConnection(url, ({ ask }) => ask('safe', 'SELECT 1 AS one'));
  for (const sslmode of ['require', 'verify-ca', 'verify-full']) {
    const good = { sslmode, sslrootcert: join(folder, 'ca.pem') };
    expect(await one(variant(good, { host: 'localhost' }))).toEqual([{ one: 1 }]);
    const refused = { code: 'unavailable', message: 'The database refuses the credentials of this server.' };
    await expect(one(variant({ sslmode, sslrootcert: join(folder, 'other.pem') }))).rejects.toMatchObject(
      refused,
    );
    await expect(one(variant(good, { host: '127.0.0.2' }))).rejects.toMatchObject(refused);
  }
});

test('a password comes from a file, and a wrong one is distinguished from an unreachable server', async () => {
  const file = join(folder, 'password');
  await withConnection(server.url, ({ ask }) =>
    ask('safe', `CREATE ROLE filed LOGIN PASSWORD 'of/the:file'`),
  );
  const url = variant({ password_file: file }, { user: 'filed' });
  await writeFile(file, 'wrong\n');
  await expect(openPostgres(url)).rejects.toMatchObject({
    code: 'unavailable',
    retryAfterMs: undefined,
    cause: expect.objectContaining({ code: '28P01' }),
  });
  await writeFile(file, 'of/the:file\n');
  const found = await withConnection(url, ({ ask }) => ask('safe', 'SELECT current_user AS name'));
  expect(found).toEqual([{ name: 'filed' }]);
});

test('a statement that takes too long is also cancelled on the server, and the connection stays usable', async () => {
  const connection = await openPostgres(variant({ connections: '1' }), { limitMs: 500 });
  try {
    await expect(connection.ask('never', 'SELECT pg_sleep(600)')).rejects.toMatchObject({
      code: 'unavailable',
      retryAfterMs: expect.any(Number),
    });
    expect(await connection.askWithin(50, 'SELECT pg_sleep($1)', [600])).toBeNull();
    const running = `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'`;
    await until(async () => (await connection.ask('safe', running)).length === 0);
  } finally {
    await connection.close();
  }
});

test('a quick statement waits for a free connection, not behind a slow one', async () => {
  const connection = await openPostgres(variant({ connections: '2' }));
  try {
    let ended = false;
    const slow = connection.ask('safe', 'SELECT pg_sleep(1)').then(() => {
      ended = true;
    });
    const quick = Array.from({ length: 20 }, () => connection.ask('safe', 'SELECT 1 AS one'));
    expect((await Promise.all(quick)).flat()).toEqual(quick.map(() => ({ one: 1 })));
    expect(ended).toBe(false);
    await slow;
  } finally {
    await connection.close();
  }
});

test('statements that no connection was free for in time are never sent, and the running one goes on', async () => {
  const connection = await openPostgres(variant({ connections: '1' }), { limitMs: 300 });
  try {
    const slow = connection.ask('never', 'SELECT 1 AS one FROM pg_sleep(0.8)', [], 5000);
    const late = connection.ask('never', 'SELECT 2 AS two');
    await expect(late).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: expect.any(Number) });
    expect(await slow).toEqual([{ one: 1 }]);
    expect(await connection.ask('safe', 'SELECT 3 AS three')).toEqual([{ three: 3 }]);
  } finally {
    await connection.close();
  }
});

test('writes that waited while the server was started again are sent to it', async () => {
  const own = await startPostgres();
  const connection = await openPostgres(`${own.url}?connections=1`);
  try {
    const running = connection.ask('safe', 'SELECT pg_sleep(0.5)');
    const waiting = Array.from({ length: 50 }, () => connection.ask('never', 'SELECT 1 AS one'));
    const ended = Promise.allSettled(waiting);
    await own.kill();
    await own.start();
    await running;
    // One or two may dial while it ends.
    const sent = (await ended).filter(({ status }) => status === 'fulfilled');
    expect(sent.length).toBeGreaterThan(45);
  } finally {
    await connection.close();
    await own.stop();
  }
});

test('what waits for a connection when they are closed is still answered', async () => {
  const connection = await openPostgres(variant({ connections: '1' }));
  const waiting = Array.from({ length: 8 }, () => connection.ask('never', 'SELECT 1 AS one'));
  await Promise.resolve();
  await connection.close();
  expect((await Promise.all(waiting)).flat()).toEqual(waiting.map(() => ({ one: 1 })));
});

test('a connection that opens too late for its statement is kept', async () => {
  const link = await startRelay(server.port);
  const url = new URL(variant({ connections: '1' }));
  url.port = String(link.port);
  const connection = await openPostgres(url.href, { limitMs: 500 });
  const isThere = () => connection.ask('never', 'SELECT 1').then(Boolean, () => false);
  try {
    link.cut();
    await until(async () => !(await isThere()));
    link.open();
    link.stall();
    expect(await isThere()).toBe(false);
    link.open();
    await until(isThere);
  } finally {
    await connection.close();
    await link.stop();
  }
});

test('a transaction that conflicts with another is repeated with its reads', async () => {
  const url = withSchema(variant({}, { user: 'strict' }));
  const schema = new URL(url).searchParams.get('schema') ?? '';
  await withConnection(server.url, ({ ask }) =>
    ask(
      'safe',
      `CREATE ROLE strict LOGIN PASSWORD 'strict'; ALTER ROLE strict SET default_transaction_isolation = 'serializable';
       CREATE SCHEMA ${schema} AUTHORIZATION strict; CREATE TABLE ${schema}.numbers (n integer);
       ALTER TABLE ${schema}.numbers OWNER TO strict`,
    ),
  );
  const own = new URL(url);
  own.password = 'strict';
  await withConnection(own.href, async ({ ask, transaction, table }) => {
    let tries = 0;
    const { promise: bothHaveRead, resolve } = Promise.withResolvers<void>();
    const addSum = () =>
      transaction('never', async (ask) => {
        const [row] = await ask<{ sum: number }>(`SELECT count(*) AS sum FROM ${table('numbers')}`);
        if (++tries === 2) resolve();
        await bothHaveRead;
        await ask(`INSERT INTO ${table('numbers')} VALUES ($1)`, [row?.sum ?? 0]);
      });
    await Promise.all([addSum(), addSum()]);
    expect(await ask('safe', `SELECT n FROM ${table('numbers')} ORDER BY n`)).toEqual([{ n: 0 }, { n: 1 }]);
    expect(tries).toBe(3);
  });
});

test('connections that break during statements and transactions fail only with unavailable', async () => {
  const link = await startRelay(server.port);
  const url = new URL(withSchema(server.url));
  url.port = String(link.port);
  const connection = await openPostgres(url.href, PATIENT);
  const images = createPostgresImages(connection);
  const errors: unknown[] = [];
  let over = false;
  let next = 0;
  const client = async () => {
    while (!over) {
      const id = `i${next++}`;
      try {
        await images.insert(image({ id }));
        await images.change(id, { filename: `changed ${id}` });
      } catch (error) {
        errors.push(error);
      }
    }
  };
  try {
    await migrate(connection);
    const clients = Promise.all(Array.from({ length: 12 }, client));
    for (let cuts = 0; cuts < 12; cuts++) {
      link.cut();
      await Bun.sleep(5);
      link.open();
      const enough = next + 6;
      await until(() => next >= enough);
    }
    over = true;
    await clients;
    expect(errors.filter((error) => !(error instanceof AppError && error.code === 'unavailable'))).toEqual(
      [],
    );
  } finally {
    over = true;
    link.open();
    await connection.close();
    await link.stop();
  }
});

test('tables are created once by any number of concurrent starts, and a role without CREATE uses them', async () => {
  const url = withSchema(server.url);
  const schema = new URL(url).searchParams.get('schema') ?? '';
  await Promise.all(Array.from({ length: 6 }, () => withConnection(url, migrate)));
  await withConnection(url, async ({ ask }) => {
    await ask('safe', `CREATE ROLE plain_${schema} LOGIN PASSWORD 'plain'`);
    await ask('safe', `GRANT USAGE ON SCHEMA ${schema} TO plain_${schema}`);
    await ask(
      'safe',
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO plain_${schema}`,
    );
    await ask('safe', `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO plain_${schema}`);
  });
  const plain = new URL(url);
  plain.username = `plain_${schema}`;
  plain.password = 'plain';
  const stores = await adapter.open(plain.href, {
    runtime: bunRuntime,
    credentials: undefined,
    folder,
    log: () => {},
  });
  try {
    await stores.images.insert(image({ id: 'a' }));
    await stores.proxies.save([]);
    await stores.state.set('key', 'value');
    await (await stores.locks.acquire('job', 1000))?.release();
    await stores.images.repair();
    expect((await stores.images.list({ text: 'png', offset: 0, limit: 9 })).total).toBe(1);
  } finally {
    await stores.close();
  }
  const elsewhere = new URL(plain);
  elsewhere.searchParams.set('schema', 'not_there');
  await expect(withConnection(elsewhere.href, migrate)).rejects.toMatchObject({
    code: 'unavailable',
    cause: expect.objectContaining({ code: '42501' }),
  });
});

test('a failed step leaves the previous version, and a newer program upgrades the tables while this one runs', async () => {
  const url = withSchema(server.url);
  await withConnection(url, async (connection) => {
    await migrate(connection);
    const broken: Migration = (table) => [`CREATE TABLE ${table('extra')} (id integer)`, 'SELECT nonsense'];
    await expect(migrate(connection, [...migrations, broken])).rejects.toThrow('nonsense');
    const next: Migration = (table) => [
      `ALTER TABLE ${table('images')} ADD COLUMN extra integer NOT NULL DEFAULT 0`,
    ];
    await migrate(connection, [...migrations, next]);
    await migrate(connection);
    const images = createPostgresImages(connection);
    await images.insert(image({ id: 'a' }));
    expect((await images.get('a'))?.id).toBe('a');
    const later = migrations.length + 2;
    await migrate(connection, [...migrations, next, () => []], later);
    await expect(migrate(connection)).rejects.toMatchObject({
      code: 'conflict',
      lasting: true,
      message: expect.stringContaining(`schema version ${later}`),
    });
  });
});

test('each step keeps everything that the previous version uses, and requires no value that it does not write', async () => {
  interface Column {
    place: string;
    type: string;
    required: boolean;
  }
  const url = withSchema(server.url);
  await withConnection(url, async (connection) => {
    const columns = () =>
      connection.ask<Column>(
        'safe',
        `SELECT table_name || '.' || column_name AS place, data_type AS type,
           is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO' AS required
         FROM information_schema.columns WHERE table_schema = $1 ORDER BY place`,
        [new URL(url).searchParams.get('schema')],
      );
    let before: Column[] = [];
    for (let version = 1; version <= migrations.length; version++) {
      await migrate(connection, migrations.slice(0, version));
      const now = await columns();
      const tables = new Set(before.map(({ place }) => place.split('.')[0]));
      const known = new Set(before.map(({ place }) => place));
      const added = now.filter(({ place }) => !known.has(place) && tables.has(place.split('.')[0]));
      expect([version, now]).toEqual([version, expect.arrayContaining(before)]);
      expect([version, added.filter(({ required }) => required)]).toEqual([version, []]);
      before = now;
    }
    expect(before.length).toBeGreaterThan(80);
  });
});

test('a server that has become read-only says so to all who wait and is not asked all the time, and one that hung keeps no connection that was left', async () => {
  const url = new URL(server.url);
  url.pathname = '/readonly';
  await withConnection(server.url, async ({ ask }) => {
    await ask('never', 'CREATE DATABASE readonly');
    await ask('never', 'ALTER DATABASE readonly SET default_transaction_read_only = on');
    await withConnection(url.href, async (connection) => {
      const said = 'The database is read-only. Try again in a few seconds.';
      const writes = Array.from({ length: 24 }, () => connection.ask('never', 'CREATE TABLE none ()'));
      const ends = await Promise.allSettled(writes);
      expect(ends.map((end) => end.status === 'rejected' && end.reason.message)).toEqual(
        Array(24).fill(said),
      );
    });
    // A primary that its operator or a full disk made read-only still has all that was acknowledged.
    const several = url.href.replace(/:(\d+)\//, ':$1,127.0.0.1:9/');
    await withConnection(`${several}?connections=1`, async (connection) => {
      const session = () => connection.ask('safe', 'SELECT pg_backend_pid()');
      const before = await session();
      await expect(connection.ask('never', 'CREATE TABLE none ()')).rejects.toThrow('is read-only');
      expect(await session()).toEqual(before);
    });
    const begun = `SELECT sessions FROM pg_stat_database WHERE datname = 'readonly'`;
    expect((await ask<{ sessions: number }>('safe', begun))[0]?.sessions).toBeLessThan(100);
    const address = parsePostgresUrl(url.href);
    const pool = await createPool({ ...address, prepare: false }, address.servers[0]);
    server.pause();
    const asked = pool.sql.unsafe('SELECT 1').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
    pool.drop();
    await asked;
    server.resume();
    // It is accepted after what the driver would have dialed meanwhile.
    await withConnection(url.href, ({ ask }) => ask('safe', 'SELECT pg_sleep(0.3)'));
    const left = `SELECT 1 FROM pg_stat_activity WHERE datname = 'readonly'`;
    await until(async () => (await ask('safe', left)).length === 0, 5000);
  });
});

test('a server whose connections are all taken says so', async () => {
  const url = new URL(server.url);
  url.pathname = '/taken';
  url.username = url.password = 'guest';
  await withConnection(server.url, async ({ ask }) => {
    await ask('never', "CREATE ROLE guest LOGIN PASSWORD 'guest'");
    await ask('never', 'CREATE DATABASE taken CONNECTION LIMIT 0');
    const said = 'The database has no connection left. Try again in a few seconds.';
    await expect(openPostgres(url.href)).rejects.toThrow(said);
  });
});

test('text is ordered by bytes, by the collation of its columns except on CockroachDB', async () => {
  const collated = async (answer?: string) => {
    const url = withSchema(server.url);
    return withConnection(url, async (connection) => {
      const transaction: PostgresConnection['transaction'] = (repeat, work, limitMs) =>
        connection.transaction(
          repeat,
          (ask) =>
            work(async <Row extends object>(text: string, values: Parameters<typeof ask>[1]) =>
              answer !== undefined && text === 'SELECT version()'
                ? ([{ version: answer }] as unknown as Row[])
                : ask<Row>(text, values),
            ),
          limitMs,
        );
      await migrate({ ...connection, transaction });
      const columns = await connection.ask<{ column: string }>(
        'safe',
        `SELECT table_name || '.' || column_name AS column FROM information_schema.columns
         WHERE table_schema = $1 AND collation_name = 'C' ORDER BY 1`,
        [new URL(url).searchParams.get('schema')],
      );
      return columns.map(({ column }) => column);
    });
  };
  expect(await collated()).toEqual([
    ...[
      'albums.id',
      'audit.id',
      'audit.subject',
      'image_text.id',
      'image_text.text',
      'image_views.id',
      'images.id',
      'tombstones.id',
    ],
  ]);
  expect(await collated('CockroachDB CCL v26.1.0 (x86_64-pc-linux-gnu)')).toEqual([]);
});

/** Fills tables of an earlier version with the rows of those of this one, as far as they had columns for them. */
async function copyRows(from: PostgresConnection, to: PostgresConnection): Promise<void> {
  const columns = await to.ask<{ name: string; list: string }>(
    'safe',
    `SELECT table_name AS name, string_agg(quote_ident(column_name), ', ') AS list FROM information_schema.columns
      WHERE table_schema = $1 AND table_name <> 'schema_version' GROUP BY table_name`,
    [/"(.+)"\./.exec(to.table('state'))?.[1] ?? ''],
  );
  expect(columns.length).toBeGreaterThan(10);
  for (const { name, list } of columns) {
    await to.ask('safe', `DELETE FROM ${to.table(name)}`);
    await to.ask('safe', `INSERT INTO ${to.table(name)} (${list}) SELECT ${list} FROM ${from.table(name)}`);
  }
}

test.each(migrations.slice(1).map((_, index) => index + 1))(
  'tables of schema version %i keep their rows',
  async (version) => {
    const [now, then] = [withSchema(server.url), withSchema(server.url)];
    const options = { runtime: bunRuntime, credentials: undefined, folder, log: () => {} };
    const picture = image({ id: 'a', filename: 'harbour.png' });
    const stores = await adapter.open(now, options);
    await stores.images.insert(picture);
    await stores.proxies.save(drafts(3));
    await stores.state.set('key', 'value');
    await stores.close();
    await withConnection(then, async (old) => {
      await migrate(old, migrations.slice(0, version));
      await withConnection(now, (filled) => copyRows(filled, old));
    });

    const { images, proxies, state, close } = await adapter.open(then, options);
    expect(await images.get('a')).toEqual(picture);
    expect((await images.list({ text: 'harbour', offset: 0, limit: 9 })).total).toBe(1);
    expect(await images.summary()).toMatchObject({ images: 1 });
    expect(await proxies.summary()).toMatchObject({ total: 3 });
    expect(await state.get('key')).toBe('value');
    await close();
  },
);

test('through PgBouncer in transaction mode, which is found out or said, nothing rests on a session', async () => {
  const bouncer = await startPgBouncer(server.trusted);
  try {
    for (const prepare of [null, 'false']) {
      const url = new URL(withSchema(bouncer.url));
      if (prepare !== null) url.searchParams.set('prepare', prepare);
      const [one, two] = await Promise.all([
        openPostgres(url.href, PATIENT),
        openPostgres(url.href, PATIENT),
      ]);
      try {
        await Promise.all([migrate(one), migrate(two)]);
        const [images, state] = [createPostgresImages(one), createPostgresState(two)];
        await Promise.all(
          Array.from({ length: 60 }, async (_, index) => {
            const id = `i${index}`;
            await images.insert(image({ id, createdAt: index }));
            await state.set(id, randomBytes(9).toString('hex'));
            expect((await images.get(id))?.id).toBe(id);
          }),
        );
        expect((await images.list({ text: 'png', offset: 0, limit: 100 })).items).toHaveLength(60);
        const kept = Array.from({ length: 60 }, async (_, index) => {
          const name = `changed in ${index}`;
          await images.change(`i${index}`, { filename: name });
          return (await images.get(`i${index}`))?.filename === name;
        });
        expect((await Promise.all(kept)).filter((is) => !is)).toEqual([]);
        const leases = await Promise.all(
          [one, two, one, two].map((connection) => createPostgresLocks(connection).acquire('job', 10_000)),
        );
        expect(leases.filter(Boolean)).toHaveLength(1);
        await leases.find(Boolean)?.release();
        const [pool, other] = [one, two].map((connection) => createPostgresProxies(connection, openReplica));
        expect((await other?.summary())?.total).toBe(0);
        await pool?.save(drafts(3));
        await until(async () => (await other?.summary())?.total === 3);
      } finally {
        await Promise.all([one.close(), two.close()]);
      }
    }
  } finally {
    await bouncer.stop();
  }
});

test('a server that may lose acknowledged writes is reported', async () => {
  const context = { runtime: bunRuntime, credentials: undefined, folder, log: () => {} };
  const risks = async (url: string) =>
    (await adapter.findings(url, context)).map(({ level, text }) => `${level}: ${text}`);
  const found = await risks(server.url);
  expect(found).toContainEqual(expect.stringContaining('warn: Postgres does not sync its log'));
  await withConnection(server.url, async ({ ask }) => {
    await ask('safe', `CREATE ROLE hasty LOGIN PASSWORD 'hasty'`);
    await ask('safe', 'ALTER ROLE hasty SET synchronous_commit = off');
    await ask('safe', 'ALTER ROLE hasty SET default_transaction_read_only = on');
  });
  const hasty = new URL(variant({}, { user: 'hasty' }));
  hasty.password = 'hasty';
  const more = await risks(hasty.href);
  expect(more).toContainEqual(expect.stringContaining('synchronous_commit off'));
  expect(more).toContainEqual(expect.stringContaining('fail: The Postgres server is read-only'));
});
