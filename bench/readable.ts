/**
 * How many pictures that another decoder reads are stored. `bun bench/readable.ts LIST`: a file with one path a line, of pictures that for example Pillow
 * has decoded whole, within the server's limits. They are stored as WebP of 256 pixels at most, for which all of a picture is decoded.
 */
import { readFile } from 'node:fs/promises';
import { startCodec } from '../test/support/codec/codec.ts';

const paths = (await readFile(process.argv[2] ?? 'list', 'utf8')).trim().split('\n');
const bench = await startCodec();
let stored = 0;
for (const path of paths) {
  try {
    await bench.convert(await readFile(path), { format: 'webp', maxWidth: 256, maxHeight: 256 });
    stored++;
  } catch (error) {
    console.log(`  ${path}: ${error instanceof Error ? error.message : error}`);
  }
}
console.log(`${stored} of ${paths.length} stored, ${((100 * stored) / paths.length).toFixed(2)}%`);
await bench.stop();
