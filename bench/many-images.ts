/** Very many images, the same in every run, for benches of lists and searches. */
import { arrayOf, type PostgresConnection } from '../adapters/postgres/connection.ts';
import { createImageRows } from '../adapters/postgres/image-rows.ts';
import { createPostgresImages } from '../adapters/postgres/images.ts';
import { migrate } from '../adapters/postgres/migrate.ts';
import type { ImageRecord } from '../src/image/image.ts';
import { columnOf } from '../src/lib/fields.ts';
import { createRandom } from '../test/support/random.ts';
import { image } from '../test/support/stores/records.ts';

export const SEED = 20_260_101;
export const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const BATCH = 5000;

/** Settings of a Postgres that holds a million images and more. */
export const LARGE = {
  shared_buffers: '1GB',
  maintenance_work_mem: '1GB',
  max_wal_size: '8GB',
  autovacuum: 'on',
};

/** File names as phones, screenshots and people make them; five words are in a tenth of them or more. */
export function createNames(random: () => number) {
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

/** So many images, a second apart, in batches. */
export function* batches(count: number): Iterable<ImageRecord[]> {
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

/**
 * Fills a store with many rows at a time, and builds the search index, if they are missing: an interrupted fill is
 * continued.
 */
export async function fillPostgres(connection: PostgresConnection, count: number): Promise<void> {
  const { ask, table } = connection;
  await migrate(connection);
  const [{ rows: there } = { rows: 0 }] = await ask<{ rows: number }>(
    'safe',
    `SELECT count(*) AS rows FROM ${table('image_text')}`,
  );
  if (there === 0) await ask('safe', 'DROP INDEX "picpool".image_text_grams');
  const rows = createImageRows(connection);
  const fields = Object.keys(image()) as (keyof ImageRecord)[];
  const types = fields.map((field, place) => {
    const isText = typeof image()[field] === 'string' || field === 'passwordHash';
    return `$${place + 1}::${isText ? 'text' : 'bigint'}[]`;
  });
  const insert = `INSERT INTO ${table('images')} (${fields.map(columnOf).join(', ')}, mark)
    SELECT u.*, 'bench' FROM unnest(${types.join(', ')}) AS u ON CONFLICT DO NOTHING`;
  const startedAt = performance.now();
  let passed = 0;
  for (const batch of batches(count)) {
    passed += batch.length;
    if (passed < there) continue;
    await ask(
      'safe',
      insert,
      fields.map((field) => arrayOf(batch.map((one) => one[field]))),
    );
    const { text, values } = rows.index([...new Map(batch.map((one) => [one.id, one])).values()]);
    await ask('safe', text, values);
  }
  await createPostgresImages(connection).repair();
  const filled = performance.now();
  await ask(
    'safe',
    `CREATE INDEX IF NOT EXISTS image_text_grams ON ${table('image_text')} USING gin (grams)`,
  );
  const indexed = performance.now();
  for (const name of ['images', 'image_text']) await ask('safe', `VACUUM ANALYZE ${table(name)}`);
  const seconds = (from: number, to: number) => `${((to - from) / 1000).toFixed(0)} s`;
  console.log(`postgres: filled in ${seconds(startedAt, filled)}, index in ${seconds(filled, indexed)}`);
}
