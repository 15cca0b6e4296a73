/** Runs hostile files through the codec and tells how they end and how long the slowest took. `bun bench/hostile.ts [count]` */

import { FORMATS } from '../src/codec/format.ts';
import { AppError } from '../src/errors.ts';
import { startCodec } from '../test/support/codec/codec.ts';
import { hostileCorpus } from '../test/support/images/hostile-images.ts';

const timeoutMs = 3000;
const bench = await startCodec({ timeoutMs, maxPixels: 20_000_000 });
const outcomes: Record<string, number> = {};
let slowest = { name: '', ms: 0 };
const files = await hostileCorpus(Number(process.argv[2] ?? 500));
for (const [index, { name, bytes }] of files.entries()) {
  const startedAt = performance.now();
  const outcome = await bench.convert(bytes, { format: FORMATS[index % FORMATS.length] ?? 'webp' }).then(
    () => 'converted',
    (error: unknown) => (error instanceof AppError ? error.code : `${name}: ${error}`),
  );
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  const ms = performance.now() - startedAt;
  if (ms > slowest.ms) slowest = { name, ms };
}
console.log(`${files.length} files:`, outcomes);
console.log(`slowest: ${slowest.name}, ${slowest.ms.toFixed(0)} ms (limit ${timeoutMs} ms)`);
const { crashes, timeouts, outOfMemory, started } = bench.codec.stats();
console.log({ crashes, timeouts, outOfMemory, started, filesLeft: await bench.files() });
await bench.stop();
