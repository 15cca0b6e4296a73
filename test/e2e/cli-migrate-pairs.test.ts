import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openStores, type Stores } from '../../adapters/open.ts';
import { IDENTITY_STATE } from '../../src/image/maintenance/store-identity.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { answered } from '../support/runner.ts';
import { cli } from '../support/servers/cli.ts';
import { sharedFolder } from '../support/shared.ts';
import { withSchema } from '../support/stores/postgres.ts';
import { sharedPostgres } from '../support/stores/postgres-server.ts';
import { album, draft, drafts, image } from '../support/stores/records.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { sharedRedis } from '../support/stores/services.ts';

type Kind = 'SQLite' | 'Redis' | 'Postgres';
/** Each is read once and written once: what is read does not know where it goes. */
const PAIRS: readonly (readonly [Kind, Kind])[] = [
  ['SQLite', 'Redis'],
  ['Redis', 'Postgres'],
  ['Postgres', 'SQLite'],
];

const PAST = 1_600_000_000_000;
const FUTURE = 4_000_000_000_000;
const TOKEN = 'a view that is sent';
/** More than are copied at once. */
const MANY = 600;

const folder = await sharedFolder();
let newUrl: Record<Kind, () => string>;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const [redis, postgres] = await Promise.all([sharedRedis(), sharedPostgres()]);
  ends.push(redis.stop, postgres.stop);
  let databases = 0;
  newUrl = {
    SQLite: () => `sqlite:${folder}/${databases++}.db`,
    Redis: () => withPrefix(redis.url),
    Postgres: () => withSchema(postgres.url),
  };
});
afterAll(() => Promise.all(ends.map((end) => end())));

const open = (url: string) => openStores(url, `file:${folder}/files`, { runtime: bunRuntime });

async function withStores<T>(url: string, work: (stores: Stores) => Promise<T>): Promise<T> {
  const stores = await open(url);
  await answered(() => stores.images.list({ offset: 0, limit: 1 }));
  await answered(() => stores.proxies.summary());
  return work(stores).finally(() => stores.close());
}

/** Images of every visibility and end, albums, a pool and values, each field with another value somewhere. */
async function fill({ images, albums, proxies, state }: Stores): Promise<void> {
  const kinds = [
    {},
    { passwordHash: 'scrypt', filename: 'geheim – 秘密.png', uploader: '2001:db8::1' },
    { unlisted: 1, format: 'webp', size: 5_000_000_000, frames: 40 },
    { expiresAt: PAST, thumbhash: 'dGh1bWI', phash: '00ff00ff00ff00ff' },
    { unlisted: 1, maxViews: 5, viewsLeft: 3, exif: '{"model":"X-T5"}' },
  ] as const;
  for (let index = 0; index < MANY; index++) {
    const id = `image${String(index).padStart(7, '0')}`;
    const times = { createdAt: 1_700_000_000_000 + index, lastAccess: 1_700_000_000_000 + (index % 7) };
    await images.insert(image({ id, ...times, ...kinds[index % kinds.length] }));
  }
  for (const id of ['image0000590', 'image0000591']) await images.remove(id);
  await images.takeView('image0000004', TOKEN, FUTURE);
  const pictures = 'image0000001 nothing00000';
  for (const [index, id] of ['album0000001', 'album0000002', 'album0000003'].entries())
    await albums.insert(album({ id, revision: index + 1, title: `Häfen ${index}`, pictures, dueAt: index }));
  await proxies.save([
    ...drafts(40, (index) => ({ port: 1024 + index, uptime: index / 40, recent: index + 2 })),
    draft({
      ip: '198.51.100.1',
      status: 'dead',
      error: 'timeout',
      exitIp: null,
      responseMs: null,
      proof: null,
    }),
    draft({ ip: '198.51.100.2', protocol: 'socks5', login: 'user:secret', country: 'ZZ', anonymity: null }),
    draft({ ip: '198.51.100.3', tampering: 'scripts', reports: '[["203.0.113.9",1]]', source: 'list-two' }),
  ]);
  const values = { 'cookie-secret': 'S3cret', 'views:versions': '12', blocks: JSON.stringify({ a: 'ä\n' }) };
  for (const [key, value] of Object.entries(values)) await state.set(key, value);
}

/** What happens to a server that still runs after the first copy. */
async function use({ images, albums, proxies, state }: Stores): Promise<void> {
  await images.change('image0000005', { passwordHash: 'scrypt of a later password' });
  await images.change('image0000006', { filename: 'renamed.png', passwordHash: null, unlisted: 0 });
  await images.change('image0000008', { expiresAt: FUTURE + 1 });
  await images.touch(new Map([['image0000010', 1_800_000_000_000]]));
  await images.takeView('image0000009', TOKEN, FUTURE);
  await images.endView('image0000009', TOKEN, true);
  for (const id of ['image0000000', 'image0000001', 'image0000599']) await images.remove(id);
  await images.insert(image({ id: 'latest000000' }));
  await albums.remove('album0000001');
  await albums.replace(album({ id: 'album0000003', revision: 4, title: 'changed' }));
  await proxies.save([
    draft({ ip: '203.0.0.1', port: 1025, status: 'dead', lastChecked: 1_800_000_000_000 }),
  ]);
  await state.set('cookie-secret', 'another');
}

/** Everything that a store answers; proxies without their IDs, which are the store's own. */
async function contentsOf({ images, albums, proxies, state }: Stores) {
  const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
  const collect = async <T>(batches: AsyncIterable<T[]>) => {
    const all: T[] = [];
    for await (const batch of batches) all.push(...batch);
    return all.toSorted(byText);
  };
  const ids = (records: readonly { id: string }[]) => records.map(({ id }) => id);
  const { formats, ...counts } = await images.summary();
  // Not copied: the mark of both stores, and what the command keeps for itself.
  const own = [IDENTITY_STATE, 'migrated-albums', 'migrated-values', 'migrated-to'];
  const keys = (await state.keys()).filter((key) => !own.includes(key));
  return {
    images: await images.recent({ offset: 0, limit: 1000 }),
    listed: ids((await images.list({ offset: 0, limit: 1000 })).items),
    found: ids((await images.list({ text: '0.png', offset: 0, limit: 1000 })).items),
    idle: ids(await images.idleSince(FUTURE, 1000)),
    ending: ids(await images.endedBy(Date.now(), 1000)).toSorted(),
    looks: await collect(images.looks()),
    faults: await images.faults(),
    counts,
    formats: formats.filter(({ count }) => count > 0).toSorted(byText),
    albums: await collect(albums.all()),
    dueAlbums: ids(await albums.dueBy(FUTURE, 100)),
    proxies: (await collect(proxies.stream({}))).map(({ id: _, ...proxy }) => proxy).toSorted(byText),
    pool: await proxies.summary(),
    values: await Promise.all(keys.toSorted().map(async (key) => [key, await state.get(key)])),
  };
}

/** Runs the command, and returns its exit code and what it has printed. */
async function migrate(from: string, to: string): Promise<[code: number, printed: string]> {
  const args = ['--from-metadata', from, '--from-blobs', `file:${folder}/files`, '--to-metadata', to];
  const { code, stdout } = await cli(['migrate', ...args], { env: { DATA_DIR: folder } });
  return [code, stdout];
}

test.each(PAIRS)(
  'all that %s holds is the same in %s, also what changed after the first copy',
  async (from, to) => {
    const [old, next] = [newUrl[from](), newUrl[to]()];
    await withStores(old, fill);
    expect(await migrate(old, next)).toEqual([0, expect.stringContaining('598 images (598 copied now')]);
    const first = await withStores(old, contentsOf);
    expect(first.images).toHaveLength(MANY - 2);
    expect(first.faults).toEqual([]);
    expect(await withStores(next, contentsOf)).toEqual(first);

    await withStores(old, use);
    expect(await migrate(old, next)).toEqual([0, expect.stringContaining('3 images removed, deleted since')]);
    const second = await withStores(old, contentsOf);
    expect(second).not.toEqual(first);
    expect(await withStores(next, contentsOf)).toEqual(second);
  },
);
