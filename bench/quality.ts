/**
 * One visible quality for WebP, JPEG and AVIF: makes the tables of src/codec/convert/quality.ts from photos, or judges them on others.
 * `bun bench/quality.ts tune|judge|drawings FOLDER SCORER [COUNT]`. `drawings` compares PNG files of 0.2 to 2.5 megapixels that compress well with fixed qualities.
 * FOLDER: JPEG photos of 1 to 12 megapixels; those that judge must not be those that tuned. SCORER: a program that reads lines of `ORIGINAL<TAB>PICTURE<TAB>WIDTH<TAB>HEIGHT`, files of RGB with 8 bits, and prints SSIMULACRA2 for
 * each, such as 20 lines of Rust around the crate `fast-ssim2`.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import sharp, { type Sharp } from 'sharp';
import { convert } from '../src/codec/convert/convert.ts';
import { differenceOf } from '../src/codec/convert/likeness.ts';
import { ENCODERS, type Lossy, sampleOf, stepsMore } from '../src/codec/convert/quality.ts';
import { takenWith } from '../src/codec/decoders/exif.ts';

const [mode, photos = '.', scorer = 'scorer', count = '60'] = process.argv.slice(2);
const [LEAST, AIM, MOST] = [72, 74.5, 77];
/** A blank picture, which looks like itself at any quality, is left out. */
const BLANK = 95;
const FORMATS = Object.keys(ENCODERS) as Lossy[];
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
  if (format === 'jpeg') return onWhite(picture).jpeg({ quality, mozjpeg: true }).toBuffer();
  return picture.avif({ quality, effort: pixels <= 4e6 ? 3 : pixels <= 20e6 ? 1 : 0 }).toBuffer();
}

const onWhite = (picture: Sharp) => picture.flatten({ background: '#ffffff' });

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

const paths: string[] = [];
for (const name of (await readdir(photos, { recursive: true })).sort(
  (a, b) => Bun.hash.crc32(a) - Bun.hash.crc32(b),
)) {
  if (!/\.jpe?g$/i.test(name) || paths.length >= Number(count)) continue;
  const {
    width = 0,
    height = 0,
    exif,
  } = await sharp(join(photos, name))
    .metadata()
    .catch(() => ({ width: 0, height: 0, exif: undefined }));
  // Cameras say how long they exposed; graphics and collages with EXIF do not.
  const isPhoto = exif !== undefined && takenWith(exif)?.exposure !== undefined;
  if (isPhoto && width * height >= 1e6 && width * height <= 12.5e6) paths.push(join(photos, name));
}

if (mode === 'tune') await tune();
else if (mode === 'drawings') await drawings();
else await judge();
program.kill();
await rm(folder, { recursive: true });

/** Prints what the median photo needs. */
async function tune(): Promise<void> {
  const rows: Record<Lossy, Row[]> = { webp: [], jpeg: [], avif: [] };
  for (const path of paths) {
    const whole = await raw(upright(path)).catch(() => null);
    if (whole === null) continue;
    const { data, info } = whole;
    await writeFile(original, data);
    const pixels = info.width * info.height;
    for (const format of FORMATS) {
      const sample = sampleOf({ data, ...info }, format);
      if (!sample) continue;
      const scores: number[] = [];
      const differences: number[] = [];
      for (const quality of TRIED[format]) {
        scores.push(await scoreOf(await encode(sharp(data, { raw: info }), format, quality, pixels)));
        const asked = quality + stepsMore(info, format);
        const made = encode(sharp(sample.data, { raw: sample }), format, asked, Number.POSITIVE_INFINITY);
        differences.push(Math.log(differenceOf(sample, (await raw(sharp(await made))).data)));
      }
      if ((scores[0] ?? BLANK) > BLANK) continue;
      const { bounds, sample: first } = ENCODERS[format];
      const quality = Math.min(bounds[1], Math.max(bounds[0], between(scores, TRIED[format], AIM)));
      const [wanted, seen] = [quality, first].map((one) => between(TRIED[format], differences, one));
      const rise = (quality - first) / ((seen ?? 0) - (wanted ?? 0));
      rows[format].push({
        quality,
        wanted: Math.exp(wanted ?? 0),
        ...(Math.abs(quality - first) > 2 && { rise }),
      });
    }
  }
  for (const format of FORMATS) {
    const middle = (of: (row: Row) => number | undefined) =>
      at(
        rows[format].flatMap((row) => of(row) ?? []),
        0.5,
      ).toPrecision(3);
    console.log(
      `${format}, ${rows[format].length} photos: wanted ${middle((row) => row.wanted)}, rise ${middle((row) => row.rise)}, usual ${middle((row) => row.quality)}`,
    );
  }
}

/** The quality that a photo needs, how much its sample then differs, and how fast that falls, unless it is too near to tell. */
interface Row {
  quality: number;
  wanted: number;
  rise?: number;
}

/** Returns the value at `place` of the line through three points. */
function between(places: readonly number[], values: readonly number[], place: number): number {
  const from = place < (places[1] ?? 0) ? 0 : 1;
  const [x, y] = [places, values].map((all) => all.slice(from, from + 2)) as [number[], number[]];
  const [left = 0, right = 0] = x;
  const [low = 0, high = 0] = y;
  return low + ((place - left) * (high - low)) / (right - left);
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
    let webp = 0;
    for (const format of FORMATS) {
      const rows = found.get(format);
      if (!rows) continue;
      await writeFile(input, await readFile(path));
      const job = { input, format, stripExif: true, maxWidth: 4096, maxHeight: 4096, look: true };
      // In turn, because the first of two reads the file and takes the memory.
      const cpu = [0, 0];
      let quality: number | null = null;
      for (const turn of index % 2 === 0 ? [0, 1] : [1, 0]) {
        const start = cpuMs();
        const made = turn === 0 ? { output } : { output: `${output}-before`, quality: BEFORE[format] };
        const { original: about } = await convert({ ...job, ...made }, limits);
        cpu[turn] = cpuMs() - start;
        if (turn === 0) quality = about.quality;
      }
      const [now, before] = [await readFile(output), await readFile(`${output}-before`)];
      const scores = [await scoreOf(now), await scoreOf(before)] as const;
      if (scores[1] > BLANK) break;
      if (scores[0] < LEAST || scores[0] > MOST)
        console.log(`  ${format} ${quality}: ${scores[0].toFixed(1)} ${path}`);
      rows.now.push(scores[0]);
      rows.before.push(scores[1]);
      rows.cpu = rows.cpu.map((sum, index) => sum + (cpu[index] ?? 0));
      rows.bytes.push(now.length / before.length);
      if (format === 'webp') webp = now.length;
      rows.webp.push(now.length / webp);
    }
  }
  report();

  function report(): void {
    for (const [format, { now, before, bytes, cpu, webp }] of found) {
      const inside = (scores: number[]) =>
        `${((100 * scores.filter((score) => score >= LEAST && score <= MOST).length) / scores.length).toFixed(0)}% in 72 to 77`;
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

async function drawings(): Promise<void> {
  const limits = { maxPixels: 1e8, maxFrames: 500, heic: true };
  const found = new Map(
    FORMATS.map((format) => [format, { now: [] as number[], before: [] as number[], bytes: [] as number[] }]),
  );
  const names = (await readdir(photos, { recursive: true })).filter((name) => /\.png$/i.test(name));
  let left = Number(count);
  for (const name of names.sort((a, b) => Bun.hash.crc32(a) - Bun.hash.crc32(b))) {
    const input = join(photos, name);
    const {
      width = 0,
      height = 0,
      channels = 0,
    } = await sharp(input)
      .metadata()
      .catch(() => ({}) as never);
    const pixels = width * height;
    const isOne = channels >= 3 && pixels >= 2e5 && pixels <= 2.5e6 && Bun.file(input).size < 0.5 * pixels;
    if (!isOne || left === 0) continue;
    left--;
    const drawn = sharp(input);
    await writeFile(original, (await raw(onWhite(drawn.clone()))).data);
    for (const [format, rows] of found) {
      const output = join(folder, 'output');
      const job = { input, output, format, stripExif: true, maxWidth: 4096, maxHeight: 4096, look: false };
      await convert(job, limits);
      const before =
        format === 'webp'
          ? await drawn.clone().webp({ lossless: true, effort: 2 }).toBuffer()
          : await encode(drawn.clone(), format, BEFORE[format], pixels);
      const now = await readFile(output);
      rows.now.push(await scoreOf(await onWhite(sharp(now)).png().toBuffer()));
      rows.before.push(await scoreOf(await onWhite(sharp(before)).png().toBuffer()));
      rows.bytes.push(now.length / before.length);
    }
  }
  for (const [format, { now, before, bytes }] of found) {
    const good = (scores: number[]) => scores.filter((score) => score >= 85).length;
    console.log(
      `${format}, ${now.length} drawings: ${good(now)} at 85 or more, median ${at(now, 0.5).toFixed(1)}; before ${good(before)}, median ${at(before, 0.5).toFixed(1)}; bytes, median ${at(bytes, 0.5).toFixed(2)} of before`,
    );
  }
}
