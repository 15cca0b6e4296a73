/**
 * A second process on a database file. `sqlite-writer.ts <path> <offset> <batches>` saves batches of 50 proxies and one
 * image each, and writes a line when a batch was acknowledged.
 */
import { openDatabase } from '../../../adapters/sqlite/database.ts';
import { createSqliteImages } from '../../../adapters/sqlite/images.ts';
import { createSqliteProxies } from '../../../adapters/sqlite/proxies.ts';
import { draft, image } from './records.ts';

const [path = '', offset = '0', batches = '0'] = process.argv.slice(2);
const runtime = process.versions.bun
  ? (await import('../../../src/runtime/bun.ts')).bunRuntime
  : (await import('../../../src/runtime/deno.ts')).denoRuntime;
const database = await openDatabase(runtime.openSqlite, path);
const proxies = createSqliteProxies(database);
const images = createSqliteImages(database);
for (let batch = 0; batch < Number(batches); batch++) {
  const first = Number(offset) + batch * 50;
  const ports = Array.from({ length: 50 }, (_, index) => 1 + first + index);
  await proxies.save(ports.map((port) => draft({ port })));
  await images.insert(image({ id: `image${first}`, filename: `batch ${first}.png`, createdAt: first }));
  process.stdout.write(`${batch}\n`);
}
database.close();
