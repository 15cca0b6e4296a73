/**
 * Run three times with a folder on a disk of its own. `store`: stores an image in a database there. `fill`: closes the database
 * properly and fills the disk to the last byte. `delete`: opens the database again, deletes the image, and forgets that.
 */
import { Database } from 'bun:sqlite';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStores } from '../../../adapters/open.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';
import { image } from './records.ts';

const [folder = '', what] = process.argv.slice(2);
const path = join(folder, 'picpool.db');

if (what === 'fill') {
  const database = new Database(path);
  database.run('PRAGMA wal_checkpoint');
  database.close(true);
  for (let bytes = 2 ** 20; bytes >= 1; bytes /= 2) {
    try {
      while (true) appendFileSync(join(folder, 'filler'), Buffer.alloc(bytes));
    } catch {}
  }
} else {
  const { images, close } = await openStores(`sqlite:${path}`, `file:${folder}/images`, {
    runtime: bunRuntime,
    log: () => {},
  });
  if (what === 'store') await images.insert(image({ id: 'stored' }));
  else {
    const isRemoved = await images.remove('stored');
    await images.dropTombstones(0);
    console.log(isRemoved ? 'removed' : 'not found');
  }
  await close();
}
