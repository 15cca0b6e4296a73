import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { placeOf } from '../../../adapters/filesystem/blobs.ts';
import { openDatabase } from '../../../adapters/sqlite/database.ts';
import { createSqliteImages } from '../../../adapters/sqlite/images.ts';
import { lookOf } from '../../../src/codec/convert/look.ts';
import { originalKey } from '../../../src/image/records/blob-keys.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';
import { image } from '../stores/records.ts';
import { photo } from './images.ts';

/** Width and height, in turn. */
const SHAPES = [
  [320, 200],
  [200, 320],
  [240, 240],
  [300, 100],
] as const;

/**
 * Writes so many public pictures, named `0.jpg` and so on from the oldest, into the folder of a server that does not run yet. Their files
 * are links to four.
 */
export async function seedGallery(folder: string, now: number, size: number): Promise<void> {
  const blobs = join(folder, 'images');
  const files = await Promise.all(
    SHAPES.map(async ([width, height], index) => {
      const bytes = await photo(width, height);
      const path = join(folder, `shape-${index}.jpg`);
      writeFileSync(path, bytes);
      const grey = Uint8Array.from({ length: 64 * 3 }, (_, at) => (at * (index + 2)) % 255);
      const look = lookOf({ data: grey, width: 8, height: 8, channels: 3 });
      return { path, width, height, size: bytes.length, thumbhash: look.thumbhash };
    }),
  );
  const database = await openDatabase(bunRuntime.openSqlite, join(folder, 'picpool.db'));
  const store = createSqliteImages(database);
  const stored: Promise<void>[] = [];
  database.transaction(() => {
    for (let index = 0; index < size; index++) {
      const { path, ...shape } = files[index % files.length] as (typeof files)[number];
      const createdAt = now - (size - index) * 60_000;
      const id = `seeded${String(index).padStart(6, '0')}`;
      const record = image({ id, ...shape, filename: `${index}.jpg`, format: 'jpeg', createdAt });
      stored.push(store.insert({ ...record, lastAccess: now }));
      const place = placeOf(blobs, originalKey(record));
      mkdirSync(place.folder, { recursive: true });
      linkSync(path, place.path);
    }
  });
  await Promise.all(stored);
  database.close();
}
