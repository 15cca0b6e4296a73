import { AppError } from '../../errors.ts';
import type { Decoded } from '../convert/animation.ts';
import { checkLimits } from '../convert/limits.ts';
import { INPUT, type SharpConstructor } from '../convert/sharp.ts';
import type { InputLimits } from '../workers/protocol.ts';
import { damaged, type Integers, integersOf } from './bytes.ts';
import { type Pixels, writePng } from './png.ts';
import { divide } from './recolour.ts';

/** Tags of TIFF 6.0. */
const TAG = {
  subfile: 254,
  width: 256,
  height: 257,
  depth: 258,
  compression: 259,
  photometric: 262,
  bitOrder: 266,
  stripAt: 273,
  turned: 274,
  samples: 277,
  stripRows: 278,
  stripBytes: 279,
  planes: 284,
  predictor: 317,
  tileWidth: 322,
  tileRows: 323,
  tileAt: 324,
  tileBytes: 325,
  others: 330,
  extra: 338,
  sampleFormat: 339,
  jpegTables: 347,
  subsampling: 530,
  icc: 34675,
  /** Of GDAL: the value of places that were not measured. */
  missing: 42113,
} as const;
const TAGS = new Set<number>(Object.values(TAG));
/** What each plane has as the whole picture does. */
const PASSED_ON: readonly number[] = [TAG.compression, TAG.bitOrder, TAG.predictor, TAG.jpegTables];
/** Description, maker, model, time, author, computer, rights, and the directories of EXIF and GPS. */
const TELLING = [270, 271, 272, 306, 315, 316, 33432, 34665, 34853];
/** Colours, alpha and one more. Pictures have no others. */
const MOST_SAMPLES = 5;
/** Bytes of a value by type: unsigned integers, texts, bytes that TIFF leaves undefined, and places of directories. */
const TYPE_BYTES: Record<number, 1 | 2 | 4> = { 1: 1, 2: 1, 3: 2, 4: 4, 7: 1, 13: 4 };
const LONG = 4;
const MOST_ENTRIES = 1000;
/** libtiff takes ten seconds to count 200,000. */
const MOST_DIRECTORIES = 10_000;
/** Maximum size of all values of a directory: a profile, and places and sizes of some hundred thousand blocks. Tags may share theirs. */
const MOST_VALUE_BYTES = 8 * 2 ** 20;
/** Tiles may extend beyond the picture, but not have several times its pixels: all of them may be the same few bytes. As many as these take 0.3 s. */
const TILES = { spare: 2 ** 24, times: 2 };

const [GREY, RGB, YCBCR, LAB] = [1, 2, 6, 8];
/** JPEG and WebP. */
const LOSSY = [7, 50001];
/** What libtiff reads here. Of tiles with any other, such as Zstandard and JPEG 2000, libvips makes a black picture. */
const READ = [1, 2, 3, 4, 5, 8, 32766, 32771, 32773, 32809, 32909, 32946, 34676, 34677, ...LOSSY];
const COMPRESSED =
  'The TIFF file is compressed in a way that this server cannot read; save it with LZW, or as PNG.';
/** A bit of `subfile`. Raw photos (DNG, NEF, ARW) begin with such pictures and have the whole one in `others`, or later. */
const REDUCED = 1;
const PREVIEW =
  'The first picture of the TIFF file is a preview, as in raw photos; send the whole picture as JPEG.';
const [UNDESCRIBED, PREMULTIPLIED, SEPARATE] = [0, 1, 2];

/** A picture that libvips refuses, or takes for RGB. */
interface Layout {
  width: number;
  height: number;
  /** Bits of a sample: 8, 12 or 16. */
  depth: number;
  photometric: number;
  samples: number;
  /** Each sample has its own tiles. */
  isPlanar: boolean;
  /** The meaning of the sample after the colours, if there is one. */
  extra: number | undefined;
  /** As in EXIF. */
  turned: number;
  /** Strips count as tiles of the whole width. */
  tile: { width: number; height: number; at: readonly number[]; bytes: readonly number[] };
}

/**
 * Decodes the forms of TIFF that libvips refuses or shows in false colours: tiles with one sample each, 8-bit CIELab, YCbCr with as many
 * samples of each, and 12-bit samples. Keeps the upper 8 bits of each sample. Leaves all others to libvips, without `still`. The file is its own EXIF, which libvips does not read.
 * @throws {AppError} `image_limit`, or `undecodable_image` with what to do instead; anything else if it is damaged.
 */
export async function decodeTiff(
  file: Buffer,
  limits: InputLimits,
  sharp: SharpConstructor,
): Promise<Decoded> {
  const integers = integersOf(file);
  const places = directoriesIn(file, integers);
  const only: Decoded = { frames: places.length, animation: null };
  const [first, ...others] = places;
  if (first === undefined) throw damaged();
  if (integers.short(file, 2) !== 42) return only;
  const values = readEntries(file, integers, first);
  const one = (tag: number, missing: number) => values.get(tag)?.[0] ?? missing;
  const width = one(TAG.width, 0);
  const isWhole = (at: number) => {
    // Only numbers that need no place of their own: thousands of directories may share megabytes.
    const next = readEntries(file, integers, at, { tags: [TAG.subfile, TAG.width], most: 2 * LONG });
    return !isReduced(next) && (next.get(TAG.width)?.[0] ?? 0) > width;
  };
  if (isReduced(values) && (values.has(TAG.others) || others.some(isWhole)))
    throw new AppError('undecodable_image', PREVIEW);
  if (!READ.includes(one(TAG.compression, 1))) throw new AppError('undecodable_image', COMPRESSED);
  const layout = layoutOf(values);
  // libtiff corrects sizes that are missing or too small.
  const declared = [TAG.tileBytes, TAG.stripBytes].flatMap((tag) => values.get(tag) ?? []);
  const packed =
    one(TAG.compression, 1) === 1
      ? (width * one(TAG.height, 0) * one(TAG.samples, 1) * one(TAG.depth, 1)) / 8
      : declared.reduce((a, b) => a + b, 0) || file.length;
  return {
    ...only,
    ...(TELLING.some((tag) => values.has(tag)) && { told: { exif: file } }),
    ...(!LOSSY.includes(one(TAG.compression, 1)) && { packed }),
    isMeasured: one(TAG.photometric, -1) === GREY && !values.has(TAG.missing),
    isOpaque: one(TAG.extra, SEPARATE) === UNDESCRIBED,
    ...(layout && { still: writePng({ ...(await draw(file, layout, values, limits, sharp)), level: 1 }) }),
  };
}

/** Returns the places of the directories, in BigTIFF as well. Stops where they repeat or the file ends. */
function directoriesIn(file: Buffer, { isLittle, short, long }: Integers): number[] {
  const isBig = short(file, 2) === 43;
  const [headBytes, entryBytes, placeBytes] = isBig ? [8, 20, 8] : [2, 12, 4];
  // Of eight bytes, the lower four are enough for a file that fits into memory.
  const placeAt = (at: number) => long(file, at + (isBig && !isLittle ? 4 : 0));
  const places = new Set<number>();
  for (let at = placeAt(isBig ? 8 : 4); at > 0 && at + headBytes <= file.length && !places.has(at); ) {
    if (places.add(at).size > MOST_DIRECTORIES) throw damaged();
    const end = at + headBytes + (isBig ? placeAt(at) : short(file, at)) * entryBytes;
    at = end + placeBytes <= file.length ? placeAt(end) : 0;
  }
  return [...places];
}

/** Returns `null` if libvips can read it, or no decoder can. */
function layoutOf(values: Entries): Layout | null {
  const one = (tag: number, missing: number) => values.get(tag)?.[0] ?? missing;
  const isTiled = values.has(TAG.tileWidth);
  const [width, height] = [one(TAG.width, 0), one(TAG.height, 0)];
  const tile = {
    width: one(TAG.tileWidth, width),
    height: isTiled ? one(TAG.tileRows, 0) : Math.min(one(TAG.stripRows, height), height),
    at: values.get(isTiled ? TAG.tileAt : TAG.stripAt) ?? [],
    bytes: values.get(isTiled ? TAG.tileBytes : TAG.stripBytes) ?? [],
  };
  const samples = one(TAG.samples, 1);
  const [depth, photometric] = [one(TAG.depth, 1), one(TAG.photometric, -1)];
  const isPlanar = one(TAG.planes, 1) === 2 && samples > 1;
  // libvips takes it for RGB, unless it is a JPEG.
  const isYcbcr = photometric === YCBCR && !LOSSY.includes(one(TAG.compression, 1));
  const isWhole = values.get(TAG.subsampling)?.every((pixels) => pixels === 1) === true;
  const hasMore = samples > (photometric === GREY ? 2 : 4);
  const isOurs =
    (((isPlanar && (isTiled || photometric === GREY)) || depth === 12 || hasMore) &&
      (photometric === RGB || photometric === GREY)) ||
    (depth === 8 && photometric === LAB) ||
    (isYcbcr && isWhole);
  const isReadable =
    (values.get(TAG.depth) ?? []).every((bits) => bits === depth) &&
    [8, 12, 16].includes(depth) &&
    (depth !== 12 || one(TAG.predictor, 1) === 1) &&
    one(TAG.sampleFormat, 1) === 1 &&
    one(TAG.turned, 1) <= 8 &&
    samples >= (photometric === GREY ? 1 : 3) &&
    samples <= MOST_SAMPLES;
  if (!isOurs || !isReadable) return null;
  if (Math.min(width, height, tile.width, tile.height) < 1) throw damaged();
  const [turned, extra] = [one(TAG.turned, 1), values.get(TAG.extra)?.[0]];
  return { width, height, depth, photometric, samples, isPlanar, extra, turned, tile };
}

type Entries = Map<number, number[]>;

const ALL_ENTRIES = { tags: [...TAGS, ...TELLING], most: MOST_VALUE_BYTES };

const isReduced = (values: Entries) => ((values.get(TAG.subfile)?.[0] ?? 0) & REDUCED) !== 0;

/** Returns the tags of a directory with their values, which are empty if they are not integers. Leaves out those that are not in the file. */
function readEntries(
  file: Buffer,
  { short, long }: Integers,
  at: number,
  { tags, most }: { tags: readonly number[]; most: number } = ALL_ENTRIES,
): Entries {
  const entries: Entries = new Map();
  const directory = file.subarray(at, at + 2 + MOST_ENTRIES * 12);
  if (directory.length < 2) throw damaged();
  const count = Math.min(short(directory, 0), MOST_ENTRIES);
  const end = 2 + count * 12;
  if (directory.length < end) throw damaged();
  let left = most;
  for (let entry = 2; entry < end; entry += 12) {
    const tag = short(directory, entry);
    if (!tags.includes(tag) || entries.has(tag)) continue;
    const bytes = TYPE_BYTES[short(directory, entry + 2)];
    const length = long(directory, entry + 4);
    if (TELLING.includes(tag)) entries.set(tag, []);
    if (bytes === undefined || !TAGS.has(tag)) continue;
    const size = length * bytes;
    if (size > left) continue;
    left -= size;
    const start = size > 4 ? long(directory, entry + 8) : at + entry + 8;
    const values = file.subarray(start, start + size);
    if (values.length < size) continue;
    const read = bytes === 4 ? long : bytes === 2 ? short : (from: Buffer, place: number) => from[place] ?? 0;
    entries.set(
      tag,
      Array.from({ length }, (_, index) => read(values, index * bytes)),
    );
  }
  return entries;
}

/**
 * Draws a picture by way of others that libvips reads: the blocks of each plane one below the other as strips of grey, because libvips
 * passes over damaged tiles and takes only sides that are multiples of 16; 12 bits as bytes, and CIELab and YCbCr as if they were RGB.
 */
async function draw(
  file: Buffer,
  layout: Layout,
  values: Entries,
  limits: InputLimits,
  sharp: SharpConstructor,
): Promise<Pixels> {
  const { width, height, depth, samples, isPlanar, photometric, extra, tile, turned } = layout;
  checkLimits({ width, height, frames: 1 }, limits);
  const blocks = Math.ceil(width / tile.width) * Math.ceil(height / tile.height);
  if (blocks * tile.width * tile.height > TILES.spare + TILES.times * width * height) throw damaged();
  const colours = photometric === GREY ? 1 : 3;
  const hasAlpha = samples > colours && (extra === PREMULTIPLIED || extra === SEPARATE);
  const used = colours + (hasAlpha ? 1 : 0);
  const planes = isPlanar ? used : 1;
  if (tile.at.length < blocks * planes || tile.bytes.length < blocks * planes) throw damaged();
  const each = isPlanar ? 1 : samples;
  const bands = depth === 12 ? 1 : each;
  const columns = depth === 12 ? Math.ceil(tile.width * each * 1.5) : tile.width;
  const rows = values.has(TAG.tileWidth) ? blocks * tile.height : height;
  const pixels = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let plane = 0; plane < planes; plane++) {
    const own = (all: readonly number[]) => all.slice(plane * blocks, (plane + 1) * blocks);
    const tags: Entries = new Map([
      ...[...values].filter(([tag]) => PASSED_ON.includes(tag)),
      [TAG.width, [columns]],
      [TAG.height, [rows]],
      [TAG.depth, Array(bands).fill(depth === 12 ? 8 : depth)],
      [TAG.photometric, [bands < 3 ? GREY : RGB]],
      [TAG.samples, [bands]],
      [TAG.stripAt, own(tile.at)],
      [TAG.stripRows, [tile.height]],
      [TAG.stripBytes, own(tile.bytes)],
    ]);
    const opened = sharp(withDirectory(file, tags), INPUT).toColourspace(bands < 3 ? 'b-w' : 'srgb');
    const { data, info } = await opened.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
    const source = depth === 12 ? upperEight(data, rows, tile.width * each) : data;
    place({ source, step: depth === 12 ? each : info.channels }, layout, { plane, used }, pixels);
  }
  finish(pixels, photometric, extra);
  const icc = photometric === LAB ? undefined : values.get(TAG.icc);
  const sides = turned > 4 ? { width: height, height: width } : { width, height };
  return { pixels, ...sides, hasAlpha, icc: icc && Buffer.from(icc) };
}

/** Copies samples from the blocks to their channels of the upright picture. */
function place(
  { source, step }: { source: Buffer; step: number },
  { width, height, turned, isPlanar, photometric, tile }: Layout,
  { plane, used }: { plane: number; used: number },
  pixels: Uint8ClampedArray,
): void {
  const colours = photometric === GREY ? 1 : 3;
  const placeOf = (x: number, y: number) => {
    const column = [2, 3, 7, 8].includes(turned) ? width - 1 - x : x;
    const row = [3, 4, 6, 7].includes(turned) ? height - 1 - y : y;
    return turned > 4 ? column * height + row : row * width + column;
  };
  const first = placeOf(0, 0);
  const [right, down] = [placeOf(1, 0) - first, placeOf(0, 1) - first];
  let above = 0;
  for (let top = 0; top < height; top += tile.height)
    for (let left = 0; left < width; left += tile.width, above += tile.height)
      for (let y = 0; y < Math.min(tile.height, height - top); y++) {
        let from = (above + y) * tile.width * step;
        let to = first + left * right + (top + y) * down;
        for (let x = left; x < Math.min(width, left + tile.width); x++, from += step, to += right)
          for (let sample = 0; sample < (isPlanar ? 1 : used); sample++)
            pixels[to * 4 + (plane + sample < colours ? plane + sample : 3)] = source[from + sample] ?? 0;
      }
}

/** Returns the file with another first directory, behind its end. */
function withDirectory(file: Buffer, tags: Entries): Buffer {
  const isLittle = file[0] === 0x49;
  const bytes = [...tags.values()].reduce((sum, { length }) => sum + (length > 1 ? length * 4 : 0), 0);
  const tail = Buffer.alloc(2 + tags.size * 12 + 4 + bytes);
  const made = Buffer.concat([file, Buffer.alloc(file.length & 1), tail]);
  const view = new DataView(made.buffer, made.byteOffset, made.length);
  const start = made.length - tail.length;
  view.setUint32(4, start, isLittle);
  view.setUint16(start, tags.size, isLittle);
  let [at, end] = [start + 2, made.length - bytes];
  for (const [tag, values] of [...tags].sort(([a], [b]) => a - b)) {
    view.setUint16(at, tag, isLittle);
    view.setUint16(at + 2, LONG, isLittle);
    view.setUint32(at + 4, values.length, isLittle);
    if (values.length > 1) view.setUint32(at + 8, end, isLittle);
    let place = values.length > 1 ? end : at + 8;
    for (const value of values) {
      view.setUint32(place, value, isLittle);
      place += 4;
    }
    if (values.length > 1) end = place;
    at += 12;
  }
  return made;
}

/** Returns the upper 8 of 12 bits. Three bytes hold two samples, and each row begins with a new byte. */
function upperEight(data: Buffer, rows: number, rowSamples: number): Buffer {
  const rowBytes = Math.ceil(rowSamples * 1.5);
  const upper = Buffer.alloc(rows * rowSamples);
  for (let row = 0; row < rows; row++) {
    for (let sample = 0; sample < rowSamples; sample++) {
      const at = row * rowBytes + Math.floor(sample * 1.5);
      const [first = 0, second = 0] = [data[at], data[at + 1]];
      upper[row * rowSamples + sample] = sample % 2 === 0 ? first : (first << 4) | (second >> 4);
    }
  }
  return upper;
}

/** Converts the channels to RGB. */
function finish(pixels: Uint8ClampedArray, photometric: number, extra: number | undefined): void {
  for (let at = 0; at < pixels.length; at += 4) {
    if (photometric === GREY) pixels.fill(pixels[at] ?? 0, at + 1, at + 3);
    if (photometric === LAB) toRgb(pixels, at);
    if (photometric === YCBCR) fromYcbcr(pixels, at);
  }
  if (extra === PREMULTIPLIED) divide(pixels, 255);
}

/**
 * The white of D50, which TIFF uses for CIELab (section 23), and the matrix from there to linear sRGB (Bradford; B.
 * Lindbloom).
 */
const WHITE = [0.9642, 1, 0.8249] as const;
const TO_SRGB = [
  [3.1338561, -1.6168667, -0.4906146],
  [-0.9787684, 1.9161415, 0.033454],
  [0.0719453, -0.2289914, 1.4052427],
] as const;

function toRgb(pixels: Uint8ClampedArray, at: number): void {
  const signed = (value = 0) => (value << 24) >> 24;
  const middle = (((pixels[at] ?? 0) / 255) * 100 + 16) / 116;
  const along = [middle + signed(pixels[at + 1]) / 500, middle, middle - signed(pixels[at + 2]) / 200];
  const xyz = along.map(
    (t, axis) => (WHITE[axis] ?? 0) * (t > 6 / 29 ? t ** 3 : (t - 4 / 29) * 3 * (6 / 29) ** 2),
  );
  for (const [channel, row] of TO_SRGB.entries()) {
    const linear = row.reduce((sum, factor, axis) => sum + factor * (xyz[axis] ?? 0), 0);
    const coded = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
    pixels[at + channel] = coded * 255;
  }
}

/** By the coefficients of ITU-R BT.601, which TIFF 6.0 (section 21) assumes. */
function fromYcbcr(pixels: Uint8ClampedArray, at: number): void {
  const [y, cb, cr] = [pixels[at] ?? 0, (pixels[at + 1] ?? 0) - 128, (pixels[at + 2] ?? 0) - 128];
  pixels[at] = y + 1.402 * cr;
  pixels[at + 1] = y - 0.344136 * cb - 0.714136 * cr;
  pixels[at + 2] = y + 1.772 * cb;
}
