/**
 * Lists and searches of many images, over SQLite, Redis and Postgres with the same images and texts:
 * `bun bench/searches.ts [count] [sqlite|redis|postgres]`, a million by default, some minutes; starts servers of its own.
 * The search is prepared as after an upgrade. Each text is searched for the first time. Exit code 1 where a goal is missed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { arrayOf } from '../adapters/postgres/arrays.ts';
import { openPostgres } from '../adapters/postgres/connection.ts';
import { createImageRows } from '../adapters/postgres/image-rows.ts';
import { createPostgresImages } from '../adapters/postgres/images.ts';
import { migrate } from '../adapters/postgres/migrate.ts';
import { openRedis } from '../adapters/redis/connection.ts';
import { encodeImage } from '../adapters/redis/image-codec.ts';
import { createRedisImages } from '../adapters/redis/images.ts';
import { openDatabase } from '../adapters/sqlite/database.ts';
import { openImageReplica } from '../adapters/sqlite/image-replica.ts';
import { createSqliteImages } from '../adapters/sqlite/images.ts';
import type { ImageRecord } from '../src/image/image.ts';
import type { ImageStore } from '../src/image/store.ts';
import { columnOf } from '../src/lib/fields.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { sharedPostgres } from '../test/support/postgres-server.ts';
import { createRandom } from '../test/support/random.ts';
import { image } from '../test/support/records.ts';
import { startRedis } from '../test/support/services.ts';

const SEED = 20_260_101;
const BATCH = 5000;
/** Texts of each kind. */
const TEXTS = 15;
const GOALS_MS = {
  sqlite: { list: 5, search: 5, slow: 40 },
  redis: { list: 10, search: 10, slow: 40 },
  postgres: { list: 5, search: 20, slow: 1000 },
};
/** Texts all of whose parts are frequent, but which nothing contains. */
const COSTLY = ['Screenshot 2024-01-01 at 23.23.23', '2024-01-28 at 24.59.59', 'IMG_20241228_999999.png'];
const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;

/** File names as phones, screenshots and people make them; five words are in a tenth of them or more. */
function createNames(random: () => number) {
  const below = (limit: number) => Math.floor(random() * limit);
  const two = (limit: number) => String(1 + below(limit)).padStart(2, '0');
  const word = (index = below(3000)) => {
    let text = '';
    for (let rest = index + 50_000; rest > 0; rest = Math.floor(rest / 13))
      text += 'etaoinshrdlum'[rest % 13];
    return text;
  };
  const makers = [
    () => `IMG_2024${two(12)}${two(28)}_${below(1e6)}.jpg`,
    () => `IMG_2024${two(12)}${two(28)}_${below(1e6)}.jpg`,
    () => `Screenshot 2024-${two(12)}-${two(28)} at ${two(24)}.${two(60)}.${two(60)}.png`,
    () => `Screenshot 2024-${two(12)}-${two(28)} at ${two(24)}.${two(60)}.${two(60)}.png`,
    () => `猫の写真${below(10_000)}.png`,
    () => `holiday_${below(1e6)}.jpg`,
    () => `invoice-${below(1e6)}.png`,
    ...Array.from({ length: 3 }, () => () => `${word()}-${word()}-${below(1000)}.webp`),
  ];
  const id = () => Array.from({ length: 12 }, () => LETTERS[below(62)]).join('');
  return { below, word, id, filename: () => makers[below(makers.length)]?.() ?? '' };
}

function* batches(count: number): Iterable<ImageRecord[]> {
  const names = createNames(createRandom(SEED));
  for (let first = 0; first < count; first += BATCH) {
    yield Array.from({ length: Math.min(BATCH, count - first) }, (_, index) =>
      image({
        id: names.id(),
        filename: names.filename(),
        format: names.below(4) ? 'webp' : 'png',
        createdAt: 1_600_000_000_000 + (first + index) * 1000,
      }),
    );
  }
}

/** Kinds of texts, none of which was searched for before. */
function texts(): Record<string, string[]> {
  const { below, word, id } = createNames(createRandom(SEED + 1));
  const frequent =
    'holiday invoice Screenshot IMG_2024 猫の写真 olida nvoice- creensh mg_20 写真 holiday_ voice shot_ OLIDAY img_';
  const endings = '.jpg .png .webp jpg png webp .jp .pn .we peg JPG gif .gif ebp .w';
  const many = (make: () => string) => {
    const made = new Set<string>();
    while (made.size < TEXTS) made.add(make());
    return [...made];
  };
  return {
    'frequent words': frequent.split(' '),
    'rare words': many(() => word()),
    'two words': many(() => `${word()}-${word()}`),
    'one character': many(() => (LETTERS[below(62)] ?? '').toLowerCase()),
    'two characters': many(() => id().slice(0, 2).toLowerCase()),
    'three to six digits': many(() => String(100 + below(1e5))),
    'word and digits': many(() => `holiday_${below(1000)}`),
    'part of an id': many(() => id().slice(0, 4)),
    'nothing found': many(() => `not ${id()}`),
    endings: endings.split(' '),
  };
}

interface Timed {
  text?: string | undefined;
  ms: number;
  total: number;
}

async function timed(store: ImageStore, query: { text?: string; offset: number }): Promise<Timed> {
  const startedAt = performance.now();
  const { total } = await store.list({ ...query, limit: 20 });
  return { text: query.text, ms: performance.now() - startedAt, total };
}

/** Watches how long other work has to wait at most. */
function watchStops(): { end(): Promise<number> } {
  let [watching, longest] = [true, 0];
  const watch = (async () => {
    while (watching) {
      const at = performance.now();
      await setImmediate();
      longest = Math.max(longest, performance.now() - at);
    }
  })();
  return {
    async end() {
      watching = false;
      await watch;
      return longest;
    },
  };
}

async function bench(name: keyof typeof GOALS_MS, store: ImageStore): Promise<boolean> {
  const goal = GOALS_MS[name];
  let reached = true;
  const judge = (what: string, value: number, most: number, unit = 'ms') => {
    reached &&= value <= most;
    console.log(
      `${name}: ${what}: ${value.toFixed(2)} ${unit}, goal ${most} ${unit}${value <= most ? '' : ', MISSED'}`,
    );
  };
  Bun.gc(true);
  const rss = process.memoryUsage().rss;
  judge('first search', (await timed(store, { text: 'first of all', offset: 0 })).ms, 100);
  for (const page of [1, 1000]) {
    const times: number[] = [];
    for (let turn = 0; turn < 50; turn++) times.push((await timed(store, { offset: (page - 1) * 20 })).ms);
    judge(`list page ${page}, median`, median(times), goal.list);
  }
  const places = Array.from({ length: 50 }, (_, turn) => ({
    createdAt: 1_600_000_000_000 + turn * 100_000,
    id: '',
  }));
  const deep: number[] = [];
  for (const after of places) {
    const startedAt = performance.now();
    await store.list({ after, offset: 0, limit: 20 });
    deep.push(performance.now() - startedAt);
  }
  judge('list by cursor near its end, median', median(deep), goal.list);
  const stops = watchStops();
  const all: number[] = [];
  const kinds = Object.entries(texts());
  const times = new Map(kinds.map(([kind]) => [kind, [] as Timed[]]));
  for (let turn = 0; turn < TEXTS; turn++) {
    for (const [kind, list] of kinds) {
      const result = await timed(store, { text: list[turn] ?? '', offset: 0 });
      times.get(kind)?.push(result);
      all.push(result.ms);
      await setImmediate();
    }
  }
  for (const [kind, results] of times) {
    const slowest = results.toSorted((a, b) => b.ms - a.ms)[0];
    const found = median(results.map(({ total }) => total));
    const most = `slowest "${slowest?.text}" ${slowest?.ms.toFixed(1)} ms`;
    console.log(
      `${name}: ${kind} (${found} found; ${most}), median: ${median(results.map(({ ms }) => ms)).toFixed(2)} ms`,
    );
  }
  judge(`search for the first time, median of ${all.length}`, median(all), goal.search);
  judge('the same, 99 %', all.toSorted((a, b) => a - b)[Math.floor(all.length * 0.99)] ?? 0, goal.slow);
  const again: number[] = [];
  for (const [, list] of kinds) {
    for (const text of list) again.push((await timed(store, { text, offset: 20 })).ms);
  }
  judge('the next page of each, median', median(again), goal.search);
  for (const text of COSTLY) {
    const { ms, total } = await timed(store, { text, offset: 0 });
    console.log(`${name}: "${text}" (${total} found): ${ms.toFixed(1)} ms`);
  }
  judge('longest stop of other work', await stops.end(), 50);
  Bun.gc(true);
  judge('memory added', (process.memoryUsage().rss - rss) / 2 ** 20, 60, 'MiB');
  return reached;
}

/** Prepares the search, and says what that takes and how long it stops other work. */
async function build(name: string, images: ImageStore): Promise<void> {
  const [startedAt, cpu, stops] = [performance.now(), process.cpuUsage(), watchStops()];
  await images.prepare(new AbortController().signal);
  const longest = await stops.end();
  const { user, system } = process.cpuUsage(cpu);
  console.log(
    `${name}: prepared in ${((performance.now() - startedAt) / 1000).toFixed(1)} s ` +
      `(processor ${((user + system) / 1e6).toFixed(1)} s), longest stop ${longest.toFixed(0)} ms`,
  );
}

async function benchSqlite(count: number): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-bench-'));
  const path = join(folder, 'picpool.db');
  const open = () => openDatabase(bunRuntime.openSqlite, path, { openThread: bunRuntime.openSqliteThread });
  let database = await open();
  try {
    // As if an older version had left them: they are indexed in the background.
    database.prepare('UPDATE image_index SET below = ?').run(Number.MAX_SAFE_INTEGER);
    const images = createSqliteImages(database);
    for (const batch of batches(count)) {
      const inserts = database.transaction(() => batch.map((one) => images.insert(one)));
      await Promise.all(inserts);
    }
    await build('sqlite', images);
    await database.close();
    database = await open();
    return await bench('sqlite', createSqliteImages(database));
  } finally {
    await database.close();
    await rm(folder, { recursive: true });
  }
}

/** Fills it as `insert` does, many at a time. */
async function benchRedis(count: number): Promise<boolean> {
  const server = await startRedis();
  const redis = await openRedis(server.url);
  try {
    for (const batch of batches(count)) {
      const records = batch.flatMap((one) => [one.id, encodeImage(one, '01234567')]);
      const listed = batch.flatMap((one) => [-one.createdAt, one.id]);
      const idle = batch.flatMap((one) => [one.lastAccess, one.id]);
      await Promise.all([
        redis.call('safe', 'HSET', redis.key('images', 'records'), ...records),
        redis.call('safe', 'ZADD', redis.key('images', 'public'), ...listed),
        redis.call('safe', 'ZADD', redis.key('images', 'idle'), ...idle),
      ]);
    }
    const images = createRedisImages(redis, () => openImageReplica(bunRuntime, tmpdir()));
    await build('redis', images);
    return await bench('redis', images);
  } finally {
    await redis.close();
    await server.stop();
  }
}

/**
 * Fills it with many rows at a time, and makes the index of the search of all of them. A server that `TEST_POSTGRES_URL` names
 * keeps them, and a fill that broke off goes on there.
 */
async function benchPostgres(count: number): Promise<boolean> {
  const server = await sharedPostgres({
    shared_buffers: '1GB',
    maintenance_work_mem: '1GB',
    max_wal_size: '8GB',
    autovacuum: 'on',
  });
  const connection = await openPostgres(server.url, { limitMs: 600_000 });
  const { ask, table } = connection;
  try {
    await migrate(connection);
    const [there] = await ask<{ rows: number }>(
      'safe',
      `SELECT count(*) AS rows FROM ${table('image_text')}`,
    );
    if (there?.rows === 0) await ask('safe', 'DROP INDEX "picpool".image_text_grams');
    let passed = 0;
    const rows = createImageRows(connection);
    const fields = Object.keys(image()) as (keyof ImageRecord)[];
    const columns = fields.map(columnOf).join(', ');
    const own = ({ id }: ImageRecord) => id;
    const startedAt = performance.now();
    for (const batch of batches(count)) {
      passed += batch.length;
      if (passed < (there?.rows ?? 0)) continue;
      const types = fields.map(
        (field, place) => `$${place + 1}::${typeof image()[field] === 'string' ? 'text' : 'bigint'}[]`,
      );
      types[fields.indexOf('passwordHash')] = `$${fields.indexOf('passwordHash') + 1}::text[]`;
      await ask(
        'safe',
        `INSERT INTO ${table('images')} (${columns}, mark)
         SELECT u.*, 'bench' FROM unnest(${types.join(', ')}) AS u ON CONFLICT DO NOTHING`,
        fields.map((field) => arrayOf(batch.map((one) => one[field]))),
      );
      const { text, values } = rows.index([...new Map(batch.map((one) => [own(one), one])).values()]);
      await ask('safe', text, values);
    }
    const images = createPostgresImages(connection);
    await images.repair();
    const filled = performance.now();
    await ask(
      'safe',
      `CREATE INDEX IF NOT EXISTS image_text_grams ON ${table('image_text')} USING gin (grams)`,
    );
    const indexed = performance.now();
    for (const name of ['images', 'image_text']) await ask('safe', `VACUUM ANALYZE ${table(name)}`);
    const seconds = (from: number, to: number) => `${((to - from) / 1000).toFixed(0)} s`;
    console.log(`postgres: filled in ${seconds(startedAt, filled)}, index in ${seconds(filled, indexed)}`);
    const sizes = await ask<{ name: string; bytes: number }>(
      'safe',
      `SELECT relname AS name, pg_relation_size(oid) AS bytes FROM pg_class
       WHERE relnamespace = 'picpool'::regnamespace AND pg_relation_size(oid) > 1000000 ORDER BY 2 DESC`,
    );
    for (const { name, bytes } of sizes)
      console.log(`postgres: ${name}: ${(bytes / 2 ** 20).toFixed(0)} MiB`);
    return await bench('postgres', images);
  } finally {
    await connection.close();
    await server.stop();
  }
}

const [count = '1000000', only] = process.argv.slice(2);
const results: boolean[] = [];
const stores = { sqlite: benchSqlite, redis: benchRedis, postgres: benchPostgres };
for (const [name, run] of Object.entries(stores)) {
  if (only === undefined || only === name) results.push(await run(Number(count)));
}
console.log(`load of the machine: ${loadavg()[0]?.toFixed(1)}`);
process.exit(results.includes(false) ? 1 : 0);
