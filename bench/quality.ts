/**
 * One visible quality for WebP, JPEG and AVIF: makes the tables of src/codec/convert/quality.ts from photos, or judges them on others.
 * `bun bench/quality.ts tune|judge FOLDER SCORER [COUNT]`. FOLDER: JPEG photos of 1 to 12 megapixels, of which those with an even checksum of their name
 * tune and the others judge. SCORER: a program that reads lines of `ORIGINAL<TAB>PICTURE<TAB>WIDTH<TAB>HEIGHT`, files of RGB with 8 bits, and prints SSIMULACRA2 for
 * each, such as 20 lines of Rust around the crate `fast-ssim2`.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import sharp, { type Sharp } from 'sharp';
import { convert } from '../src/codec/convert/convert.ts';
import { BOUNDS, factorsOf, type Lossy, SAMPLE_QUALITY, sampleOf } from '../src/codec/convert/quality.ts';

const [mode, photos = '.', scorer = 'scorer', count = '60'] = process.argv.slice(2);
const AIM = 74.7;
/** A blank picture, which looks like itself at any quality, is left out. */
const BLANK = 95;
const FORMATS = Object.keys(SAMPLE_QUALITY) as Lossy[];
/** What the server did before quality followed from the picture. */
const BEFORE: Record<Lossy, number> = { webp: 80, jpeg: 82, avif: 50 };
/** Qualities around the usual ones, for the line through the scores. */
const TRIED: Record<Lossy, readonly number[]> = {
  webp: [72, 82, 88],
  jpeg: [56, 68, 80],
  avif: [46, 57, 66],
};

sharp.concurrency(1);
sharp.cache(false);
const folder = await mkdtemp(join(tmpdir(), 'picpool-quality-'));
const [original, other] = [join(folder, 'original'), join(folder, 'other')];
const program = spawn(scorer);
const answers = createInterface({ input: program.stdout })[Symbol.asyncIterator]();

const raw = (picture: Sharp) =>
  picture.removeAlpha().toColourspace('srgb').raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });

/** Compares a picture with the file `original`. */
async function scoreOf(made: Buffer): Promise<number> {
  const { data, info } = await raw(sharp(made));
  await writeFile(other, data);
  program.stdin.write(`${original}\t${other}\t${info.width}\t${info.height}\n`);
  return Number((await answers.next()).value);
}

function encode(picture: Sharp, format: Lossy, quality: number, pixels: number): Promise<Buffer> {
  if (format === 'webp') return picture.webp({ quality, effort: 2 }).toBuffer();
  if (format === 'jpeg') return picture.jpeg({ quality, mozjpeg: true }).toBuffer();
  return picture.avif({ quality, effort: pixels <= 4e6 ? 3 : pixels <= 20e6 ? 1 : 0 }).toBuffer();
}

const upright = (path: string) =>
  sharp(path, { limitInputPixels: false, failOn: 'error' })
    .autoOrient()
    .resize({ width: 4096, height: 4096, fit: 'inside', withoutEnlargement: true });

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const sorted = (values: readonly number[]) => [...values].sort((a, b) => a - b);
const at = (values: readonly number[], share: number) =>
  sorted(values)[Math.floor(values.length * share)] ?? Number.NaN;

const wanted = mode === 'tune' ? 0 : 1;
const paths: string[] = [];
for (const name of (await readdir(photos, { recursive: true })).sort(
  (a, b) => Bun.hash.crc32(a) - Bun.hash.crc32(b),
)) {
  if (!/\.jpe?g$/i.test(name) || Bun.hash.crc32(name) % 2 !== wanted || paths.length >= Number(count))
    continue;
  const {
    width = 0,
    height = 0,
    exif,
  } = await sharp(join(photos, name))
    .metadata()
    .catch(() => ({ width: 0, height: 0, exif: undefined }));
  // With EXIF: taken by a camera.
  if (exif && width * height >= 1e6 && width * height <= 12.5e6) paths.push(join(photos, name));
}

if (mode === 'tune') await tune();
else await judge();
program.kill();
await rm(folder, { recursive: true });

async function tune(): Promise<void> {
  const rows: Record<Lossy, { factors: number[]; quality: number; slope: number }[]> = {
    webp: [],
    jpeg: [],
    avif: [],
  };
  for (const path of paths) {
    const whole = await raw(upright(path)).catch(() => null);
    if (whole === null) continue;
    const { data, info } = whole;
    await writeFile(original, data);
    const pixels = info.width * info.height;
    for (const format of FORMATS) {
      const sample = sampleOf(
        { data, width: info.width, height: info.height, channels: info.channels },
        format,
      );
      if (!sample) continue;
      const points: [number, number][] = [];
      for (const quality of TRIED[format])
        points.push([
          quality,
          await scoreOf(await encode(sharp(data, { raw: info }), format, quality, pixels)),
        ]);
      const [low, middle, high] = points as [[number, number], [number, number], [number, number]];
      if (low[1] > BLANK) continue;
      const made = await encode(
        sharp(sample.data, { raw: { ...sample, channels: 3 } }),
        format,
        SAMPLE_QUALITY[format],
        pixels,
      );
      const decoded = { ...sample, data: (await raw(sharp(made))).data };
      const factors = factorsOf(sample, decoded, pixels);
      const [from, to] = middle[1] > AIM ? [low, middle] : [middle, high];
      const slope = Math.max(0.25, (to[1] - from[1]) / (to[0] - from[0]));
      const [least, most] = BOUNDS[format];
      const quality = Math.min(most, Math.max(least, from[0] + (AIM - from[1]) / slope));
      rows[format].push({ factors, quality, slope });
    }
  }
  for (const format of FORMATS) {
    const model = fitted(rows[format]).map((value) => Number(value.toPrecision(4)));
    console.log(
      `${format}: [${model.join(', ')}], from ${rows[format].length}; median quality ${at(
        rows[format].map(({ quality }) => quality),
        0.5,
      ).toFixed(1)}`,
    );
  }
}

/** How much a factor is held back, in deviations of it. */
const RIDGE = 0.03;

/** Least squares of the error in score, in which far outliers count little and factors are held back. */
function fitted(rows: readonly { factors: number[]; quality: number; slope: number }[]): number[] {
  const size = rows[0]?.factors.length ?? 0;
  const columns = Array.from({ length: size }, (_, column) =>
    rows.map(({ factors }) => factors[column] ?? 0),
  );
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const means = columns.map(mean);
  const spreads = columns.map((values, column) =>
    Math.sqrt(mean(values.map((value) => (value - (means[column] ?? 0)) ** 2))),
  );
  const scaled = rows.map(({ factors }) =>
    factors.map((factor, column) =>
      column === 0 ? 1 : (factor - (means[column] ?? 0)) / ((spreads[column] ?? 0) + 1e-9),
    ),
  );
  let model: number[] = [];
  for (let round = 0; round < 10; round++) {
    const weights = rows.map(({ quality, slope }, row) => {
      const guess = model.reduce((sum, value, column) => sum + value * (scaled[row]?.[column] ?? 0), 0);
      return slope ** 2 / (1 + (round === 0 ? 0 : (guess - quality) * slope) ** 2 / 2.5 ** 2);
    });
    const held = RIDGE * weights.reduce((sum, weight) => sum + weight, 0);
    const sums = Array.from({ length: size }, (_, line) =>
      Array.from({ length: size + 1 }, (_, column) =>
        rows.reduce(
          (sum, { quality }, row) =>
            sum +
            (weights[row] ?? 0) *
              (scaled[row]?.[line] ?? 0) *
              (column < size ? (scaled[row]?.[column] ?? 0) : quality),
          line === column && line > 0 ? held : 0,
        ),
      ),
    );
    model = solved(sums);
  }
  const steps = model.map((value, column) => (column === 0 ? 0 : value / ((spreads[column] ?? 0) + 1e-9)));
  const start = steps.reduce((sum, step, column) => sum - step * (means[column] ?? 0), model[0] ?? 0);
  return [start, ...steps.slice(1)];
}

/** Gauss and Jordan, with pivots. */
function solved(lines: number[][]): number[] {
  for (let row = 0; row < lines.length; row++) {
    const pivot = lines.findIndex(
      (line, index) =>
        index >= row &&
        Math.abs(line[row] ?? 0) === Math.max(...lines.slice(row).map((one) => Math.abs(one[row] ?? 0))),
    );
    [lines[row], lines[pivot]] = [lines[pivot] as number[], lines[row] as number[]];
    const line = lines[row] as number[];
    for (const [index, other] of lines.entries()) {
      const factor = index === row ? 0 : (other[row] ?? 0) / (line[row] ?? 1);
      for (const column of other.keys()) other[column] = (other[column] ?? 0) - factor * (line[column] ?? 0);
    }
  }
  return lines.map((line, row) => (line.at(-1) ?? 0) / (line[row] ?? 1));
}

async function judge(): Promise<void> {
  const limits = { maxPixels: 1e8, maxFrames: 500, heic: true };
  const input = join(folder, 'input');
  const output = join(folder, 'output');
  const found = new Map(
    FORMATS.map((format) => [
      format,
      {
        now: [] as number[],
        before: [] as number[],
        bytes: [] as number[],
        cpu: [0, 0],
        webp: [] as number[],
      },
    ]),
  );
  for (const [index, path] of paths.entries()) {
    if (index > 0 && index % 8 === 0) report();
    const whole = await raw(upright(path)).catch(() => null);
    if (whole === null) continue;
    await writeFile(original, whole.data);
    if ((await scoreOf(await encode(upright(path), 'webp', 50, 0))) > BLANK) continue;
    let webp = 0;
    for (const format of FORMATS) {
      const rows = found.get(format);
      if (!rows) continue;
      await writeFile(input, await readFile(path));
      const start = cpuMs();
      const { width, height } = await convert(
        { input, output, format, stripExif: true, maxWidth: 4096, maxHeight: 4096, look: true },
        limits,
      );
      const middle = cpuMs();
      await convert(
        {
          input,
          output: `${output}-before`,
          format,
          stripExif: true,
          maxWidth: 4096,
          maxHeight: 4096,
          look: true,
          quality: BEFORE[format],
        },
        limits,
      );
      rows.cpu = [(rows.cpu[0] ?? 0) + middle - start, (rows.cpu[1] ?? 0) + cpuMs() - middle];
      const [now, before] = [
        await readFile(output),
        await encode(upright(path), format, BEFORE[format], width * height),
      ];
      rows.now.push(await scoreOf(now));
      rows.before.push(await scoreOf(before));
      rows.bytes.push(now.length / before.length);
      if (format === 'webp') webp = now.length;
      rows.webp.push(now.length / webp);
    }
  }
  report();

  function report(): void {
    for (const [format, { now, before, bytes, cpu, webp }] of found) {
      const inside = (scores: number[]) =>
        `${((100 * scores.filter((score) => score >= 72 && score <= 77).length) / scores.length).toFixed(0)}% in 72 to 77`;
      const range = (scores: number[]) =>
        `5 to 95%: ${at(scores, 0.05).toFixed(1)} to ${at(scores, 0.95).toFixed(1)}, median ${at(scores, 0.5).toFixed(1)}`;
      console.log(
        `${format}, ${now.length} photos: ${inside(now)}, ${range(now)}; before ${inside(before)}, ${range(before)}`,
      );
      console.log(
        `  bytes, median: ${at(bytes, 0.5).toFixed(2)} of before, ${at(webp, 0.5).toFixed(2)} of WebP; CPU ${((cpu[0] ?? 0) / (cpu[1] ?? 1)).toFixed(2)} of the fixed quality`,
      );
    }
  }
}
