/**
 * Images per second of the codec against a bare sharp loop with the same options and as many at once, interleaved in
 * one run; then the time of refusals, and the memory of the workers. `bun bench/convert.ts [photo.jpg]`
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { receiveUpload } from '../src/image/upload/upload.ts';
import { type CodecBench, startCodec } from '../test/support/codec/codec.ts';
import { gifOfFrames, pngBomb, SVG_BOMB } from '../test/support/images/hostile-images.ts';
import { animation, photo, privatePhoto, transparent } from '../test/support/images/images.ts';

const AT_ONCE = 4;
const folder = await mkdtemp(join(tmpdir(), 'picpool-bench-'));
let written = 0;

/** Runs `count` jobs, `AT_ONCE` at a time, and returns how many a second. */
async function rate(count: number, job: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  let left = count;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) await job();
    }),
  );
  return (count * 1000) / (performance.now() - startedAt);
}

async function bare(input: string): Promise<void> {
  const output = join(folder, `bare-${++written}`);
  await sharp(input, { failOn: 'error' }).autoOrient().webp({ quality: 80, effort: 2 }).toFile(output);
  await rm(output);
}

async function throughCodec({ codec }: CodecBench, input: string): Promise<void> {
  const output = join(folder, `codec-${++written}`);
  const box = { maxWidth: 4096, maxHeight: 4096 };
  await codec.convert({ input, output, format: 'webp', stripExif: true, ...box }, { client: 'bench' });
  await rm(output);
}

async function throughUpload(bench: CodecBench, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const request = new Request('http://localhost/', { method: 'POST', body: bytes });
  const upload = await receiveUpload(request, { maxBytes: 32_000_000, folder });
  for (const { path } of upload.files) await throughCodec(bench, path);
  await upload.dispose();
}

async function compare(name: string, bytes: Buffer, count: number, bench: CodecBench): Promise<void> {
  const input = join(folder, 'input');
  await writeFile(input, bytes);
  const body = new Uint8Array(bytes);
  const ways = {
    bare: () => bare(input),
    codec: () => throughCodec(bench, input),
    'upload and codec': () => throughUpload(bench, body),
  };
  const best: Record<string, number> = {};
  for (const way of Object.values(ways)) await rate(AT_ONCE, way);
  for (let round = 0; round < 5; round++) {
    for (const [label, way] of Object.entries(ways)) {
      best[label] = Math.max(best[label] ?? 0, await rate(count, way));
    }
  }
  const { bare: base = 1, ...others } = best;
  console.log(`${name} (${Math.round(bytes.length / 1024)} KiB) to webp: bare sharp ${base.toFixed(1)}/s`);
  for (const [label, value] of Object.entries(others)) {
    console.log(`  ${label}: ${value.toFixed(1)}/s, ratio ${(value / base).toFixed(2)}`);
  }
}

async function refusals(bench: CodecBench): Promise<void> {
  const files = {
    svg: SVG_BOMB,
    'png 17,000 x 17,000': pngBomb(17_000, 17_000),
    'gif of 10,000 frames': gifOfFrames(10_000),
  };
  for (const [name, bytes] of Object.entries(files)) {
    const times: number[] = [];
    for (let round = 0; round < 9; round++) {
      const startedAt = performance.now();
      await bench.convert(bytes).catch(() => {});
      times.push(performance.now() - startedAt);
    }
    console.log(`${name} refused in ${(times.sort((a, b) => a - b)[4] ?? 0).toFixed(1)} ms (median)`);
  }
}

/** Resident MiB of every worker. */
function memory({ codec }: CodecBench): number[] {
  return codec.stats().pids.map((pid) => {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]);
    return Math.round((pages * 4096) / 2 ** 20);
  });
}

async function soak(bench: CodecBench): Promise<void> {
  const inputs = [
    await photo(2000, 1500),
    await privatePhoto('jpeg', 6, [1200, 900]),
    await animation('gif', { frames: 20, width: 300, height: 200 }),
    await transparent(),
    await privatePhoto('avif', 1, [800, 600]),
  ];
  const formats = ['webp', 'jpeg', 'png', 'avif', 'gif'] as const;
  console.log(`workers after 0 conversions: ${memory(bench)} MiB`);
  for (const [until, from] of [
    [100, 0],
    [1000, 100],
  ] as const) {
    let index = from;
    await rate(until - from, () => {
      const input = inputs[index % inputs.length] ?? Buffer.alloc(0);
      const format = formats[Math.floor(index++ / inputs.length) % formats.length] ?? 'webp';
      return bench.convert(input, { format, maxWidth: 1000 });
    });
    console.log(
      `workers after ${until} mixed conversions: ${memory(bench)} MiB; started ${bench.codec.stats().started}`,
    );
  }
}

sharp.concurrency(1);
sharp.cache(false);
const bench = await startCodec({ workers: availableParallelism() });
const given = process.argv[2];
const large = given ? await readFile(given) : await photo(2725, 2225);
const small = await sharp(large).resize(480).jpeg({ quality: 84 }).toBuffer();
await compare('a photo of 6 megapixels', large, 8, bench);
await compare('a small picture', small, 100, bench);
await refusals(bench);
await soak(bench);
await bench.stop();
await rm(folder, { recursive: true });
