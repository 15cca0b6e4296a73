/**
 * Bytes, CPU and likeness of encoder settings: what src/codec/convert/convert.ts rests on. Photos of your own tell more
 * than the generated ones. `bun bench/encoders.ts [folder of photos]`
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { photo } from '../test/support/images/images.ts';

/** Wider photos are reduced, so that a run ends within minutes. */
const WIDTH = 1600;

const settings: Record<string, (input: Buffer) => Sharp> = {};
for (const effort of [0, 1, 2, 3, 4]) {
  settings[`webp effort ${effort}`] = (input) => sharp(input).webp({ quality: 80, effort });
}
settings['webp effort 2, smart subsampling'] = (input) =>
  sharp(input).webp({ effort: 2, smartSubsample: true });
settings.jpeg = (input) => sharp(input).jpeg({ quality: 82 });
settings['jpeg, mozjpeg'] = (input) => sharp(input).jpeg({ quality: 82, mozjpeg: true });
settings['png level 6'] = (input) => sharp(input).png();
settings['png level 4, row filters'] = (input) =>
  sharp(input).png({ compressionLevel: 4, adaptiveFiltering: true });
settings['png level 9, row filters'] = (input) =>
  sharp(input).png({ compressionLevel: 9, adaptiveFiltering: true });
for (const effort of [1, 3, 7]) settings[`gif effort ${effort}`] = (input) => sharp(input).gif({ effort });
for (const effort of [0, 1, 2, 3])
  settings[`avif effort ${effort}`] = (input) => sharp(input).avif({ effort });

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Peak signal-to-noise ratio in dB. */
async function likeness(original: Buffer, encoded: Buffer): Promise<number> {
  const [a, b] = await Promise.all(
    [original, encoded].map((bytes) => sharp(bytes).removeAlpha().raw().toBuffer()),
  );
  if (!a || !b) return Number.NaN;
  let squares = 0;
  for (let at = 0; at < a.length; at++) squares += ((a[at] ?? 0) - (b[at] ?? 0)) ** 2;
  return 10 * Math.log10((255 * 255 * a.length) / squares);
}

sharp.concurrency(1);
sharp.cache(false);
const folder = process.argv[2];
const originals: Record<string, Buffer> = {};
if (folder) {
  for (const name of await readdir(folder)) originals[name] = await readFile(join(folder, name));
} else {
  for (const seed of [1, 2, 3]) originals[`generated ${seed}`] = await photo(WIDTH, 1200, seed);
}
for (const [name, original] of Object.entries(originals)) {
  const input = await sharp(original)
    .autoOrient()
    .resize(WIDTH, null, { withoutEnlargement: true })
    .png()
    .toBuffer();
  const { width, height } = await sharp(input).metadata();
  console.log(`\n${name}, ${width} x ${height}`);
  for (const [label, make] of Object.entries(settings)) {
    const before = cpuMs();
    const encoded = await make(input).toBuffer();
    const perMegapixel = ((cpuMs() - before) * 1e6) / (width * height);
    const decibels = await likeness(input, encoded);
    const kib = Math.round(encoded.length / 1024);
    console.log(
      `${label.padEnd(34)} ${perMegapixel.toFixed(0).padStart(5)} ms/MP ${String(kib).padStart(6)} KiB ${decibels.toFixed(1)} dB`,
    );
  }
}
