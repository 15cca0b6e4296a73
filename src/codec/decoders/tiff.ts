import { inflateSync } from 'node:zlib';
import { AppError } from '../../errors.ts';
import { checkLimits } from '../convert/limits.ts';
import type { InputLimits } from '../workers/protocol.ts';
import { damaged, type Integers, integersOf } from './bytes.ts';
import type { Pixels } from './png.ts';

/** Tags of TIFF 6.0. */
const TAG = {
  subfile: 254,
  width: 256,
  height: 257,
  depth: 258,
  compression: 259,
  photometric: 262,
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
  icc: 34675,
} as const;
const TAGS = new Set<number>(Object.values(TAG));
/** Colours, alpha and one more. Pictures have no others. */
const MOST_SAMPLES = 5;
/** Bytes of a value by type: unsigned integers, bytes that TIFF leaves undefined, and places of directories. */
const TYPE_BYTES: Record<number, 1 | 2 | 4> = { 1: 1, 3: 2, 4: 4, 7: 1, 13: 4 };
const MOST_ENTRIES = 1000;
/** Maximum size of all values of a directory: a profile, and places and sizes of some hundred thousand blocks. Tags may share theirs. */
const MOST_VALUE_BYTES = 8 * 2 ** 20;
/** Tiles may extend beyond the picture, but not have many times its pixels: all of them may be the same few bytes. As many as these take 0.3 s. */
const TILES = { spare: 2 ** 24, times: 4 };

const [GREY, RGB, LAB] = [1, 2, 8];
const [RAW, LZW, DEFLATE, OLD_DEFLATE] = [1, 5, 8, 32946];
/** Old-style JPEG and LZMA. */
const UNREAD = [6, 34925];
const COMPRESSED =
  'The TIFF file is compressed with old-style JPEG or LZMA, which this server cannot read; save it with LZW, or as PNG.';
/** A bit of `subfile`. Raw photos (DNG, NEF, ARW) begin with such a picture and have the whole one in `others`, or next. */
const REDUCED = 1;
const PREVIEW =
  'The first picture of the TIFF file is a preview, as in raw photos; send the whole picture as JPEG.';
const [PREMULTIPLIED, SEPARATE] = [1, 2];

/** The first picture of a file. */
interface Layout {
  width: number;
  height: number;
  /** Bits of a sample: 8, 12 or 16. */
  depth: number;
  compression: number;
  photometric: number;
  samples: number;
  /** Each sample has its own blocks. */
  isPlanar: boolean;
  isDifferenced: boolean;
  /** The meaning of the sample after the colours, if there is one. */
  extra: number | undefined;
  icc: Buffer | undefined;
  /** Strips count as tiles of the whole width. */
  tile: { width: number; height: number; at: readonly number[]; bytes: readonly number[] };
  isLittle: boolean;
}

/**
 * Decodes the forms of TIFF that libvips refuses: tiles with one sample each, 8-bit CIELab, and 12-bit samples. Returns
 * `null` for all others. Keeps the upper 8 bits of each sample.
 * @throws {AppError} `image_limit`, or `undecodable_image` with what to do instead; anything else if it is damaged.
 */
export function decodeTiff(file: Buffer, limits: InputLimits): Pixels | null {
  const layout = readLayout(file);
  if (layout === null) return null;
  const { width, height, samples, isPlanar, tile } = layout;
  checkLimits({ width, height, frames: 1 }, limits);
  const planes = isPlanar ? samples : 1;
  const across = Math.ceil(width / tile.width);
  const blocks = across * Math.ceil(height / tile.height);
  if (blocks * tile.width * tile.height > TILES.spare + TILES.times * width * height) throw damaged();
  const pixels = new Uint8ClampedArray(width * height * 4).fill(255);
  const seen = Math.min(planes, channelsOf(layout));
  if (tile.at.length < blocks * seen || tile.bytes.length < blocks * seen) throw damaged();
  for (let index = 0; index < blocks * seen; index++) {
    const block = index % blocks;
    const left = (block % across) * tile.width;
    const top = Math.floor(block / across) * tile.height;
    place(unpack(file, layout, index, top), layout, { left, top, plane: Math.floor(index / blocks) }, pixels);
  }
  finish(pixels, layout);
  return { pixels, width, height, hasAlpha: hasAlpha(layout), icc: layout.icc };
}

const coloursOf = ({ photometric }: Layout) => (photometric === GREY ? 1 : 3);
const hasAlpha = ({ extra }: Layout) => extra === PREMULTIPLIED || extra === SEPARATE;
/** Number of samples that are used. */
const channelsOf = (layout: Layout) => coloursOf(layout) + (hasAlpha(layout) ? 1 : 0);

/** Returns `null` if libvips can read it, or no decoder can. */
function readLayout(file: Buffer): Layout | null {
  const head = file.subarray(0, 4);
  const integers = integersOf(head);
  const { isLittle } = integers;
  if (head.toString('latin1') !== (isLittle ? 'II*\0' : 'MM\0*')) return null;
  const { values, next } = readEntries(file, integers, integers.long(file, 4));
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
  const isPlanar = one(TAG.planes, 1) === 2;
  const isOurs =
    (((isPlanar && isTiled) || depth === 12) && (photometric === RGB || photometric === GREY)) ||
    (photometric === LAB && depth === 8);
  if (isReduced(values) && (values.has(TAG.others) || hasWhole(file, integers, next, width)))
    throw new AppError('undecodable_image', PREVIEW);
  const compression = one(TAG.compression, RAW);
  if (UNREAD.includes(compression)) throw new AppError('undecodable_image', COMPRESSED);
  const isReadable =
    (values.get(TAG.depth) ?? []).every((bits) => bits === depth) &&
    [8, 12, 16].includes(depth) &&
    [RAW, LZW, DEFLATE, OLD_DEFLATE].includes(compression) &&
    one(TAG.predictor, 1) <= (depth === 12 ? 1 : 2) &&
    one(TAG.turned, 1) === 1 &&
    one(TAG.sampleFormat, 1) === 1 &&
    samples >= (photometric === GREY ? 1 : 3) &&
    samples <= MOST_SAMPLES;
  if (!isOurs || !isReadable) return null;
  if (Math.min(width, height, tile.width, tile.height) < 1) throw damaged();
  const icc = photometric === LAB ? undefined : values.get(TAG.icc);
  return {
    ...{ width, height, depth, compression, photometric, samples, isPlanar, tile, isLittle },
    isDifferenced: one(TAG.predictor, 1) === 2,
    extra: values.get(TAG.extra)?.[0],
    icc: icc && Buffer.from(icc),
  };
}

type Entries = Map<number, number[]>;

const isReduced = (values: Entries) => ((values.get(TAG.subfile)?.[0] ?? 0) & REDUCED) !== 0;

/** Returns whether the directory at this place is of a wider picture that was not reduced. */
function hasWhole(file: Buffer, integers: Integers, at: number, width: number): boolean {
  if (at === 0) return false;
  const { values } = readEntries(file, integers, at);
  return !isReduced(values) && (values.get(TAG.width)?.[0] ?? 0) > width;
}

/**
 * Returns the tags of a directory with their values, without those that are not integers or not in the file, and the
 * place of the next directory, or 0.
 */
function readEntries(file: Buffer, { short, long }: Integers, at: number): { values: Entries; next: number } {
  const entries: Entries = new Map();
  const directory = file.subarray(at, at + 2 + MOST_ENTRIES * 12);
  if (directory.length < 2) throw damaged();
  const count = Math.min(short(directory, 0), MOST_ENTRIES);
  const end = 2 + count * 12;
  if (directory.length < end) throw damaged();
  let left = MOST_VALUE_BYTES;
  for (let entry = 2; entry < end; entry += 12) {
    const tag = short(directory, entry);
    const bytes = TYPE_BYTES[short(directory, entry + 2)];
    const length = long(directory, entry + 4);
    if (bytes === undefined || !TAGS.has(tag) || entries.has(tag)) continue;
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
  return { values: entries, next: at + end + 4 <= file.length ? long(file, at + end) : 0 };
}

/**
 * Returns the samples of a block row by row, those of 16 bits in two bytes and all others in one. The last strip has
 * only the remaining rows.
 */
function unpack(file: Buffer, layout: Layout, index: number, top: number): Buffer {
  const { tile, compression, depth, samples, isPlanar, height } = layout;
  const isStrip = tile.width === layout.width;
  const rows = isStrip ? Math.min(tile.height, height - top) : tile.height;
  const rowSamples = tile.width * (isPlanar ? 1 : samples);
  const rowBytes = Math.ceil((rowSamples * depth) / 8);
  const bytes = rows * rowBytes;
  // Compressed data may be slightly larger than the result.
  const start = tile.at[index] ?? 0;
  const packed = file.subarray(start, start + Math.min(tile.bytes[index] ?? 0, 2 * bytes + 1024));
  const data =
    compression === RAW
      ? Buffer.from(packed)
      : compression === LZW
        ? unpackLzw(packed, bytes)
        : inflateSync(packed, { maxOutputLength: bytes });
  if (data === null || data.length < bytes) throw damaged();
  if (layout.isDifferenced) add(data, layout, rowBytes);
  return depth === 12 ? upperEight(data, rows, rowSamples) : data;
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

/** Undoes horizontal differencing, in which each sample is the difference from the pixel before (section 14). */
function add(data: Buffer, { depth, samples, isPlanar, isLittle }: Layout, rowBytes: number): void {
  const step = isPlanar ? 1 : samples;
  if (depth === 16) {
    if (isLittle) data.swap16();
    for (let at = 0; at + 1 < data.length; at += 2) {
      if (at % rowBytes < step * 2) continue;
      data.writeUInt16BE((data.readUInt16BE(at) + data.readUInt16BE(at - step * 2)) & 0xffff, at);
    }
    if (isLittle) data.swap16();
    return;
  }
  for (let at = 0; at < data.length; at++) {
    if (at % rowBytes >= step) data[at] = (data[at] ?? 0) + (data[at - step] ?? 0);
  }
}

/** Copies the samples of a block to their channels of the pixels, the upper 8 bits of each. */
function place(
  data: Buffer,
  layout: Layout,
  { left, top, plane }: { left: number; top: number; plane: number },
  pixels: Uint8ClampedArray,
): void {
  const { width, height, tile, depth, samples, isPlanar, isLittle } = layout;
  const sampleBytes = depth === 16 ? 2 : 1;
  const upper = depth === 16 && isLittle ? 1 : 0;
  const colours = coloursOf(layout);
  const each = isPlanar ? 1 : samples;
  const [right, bottom] = [Math.min(width, left + tile.width), Math.min(height, top + tile.height)];
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const from = ((y - top) * tile.width + (x - left)) * each * sampleBytes + upper;
      for (let sample = 0; sample < each && plane + sample < channelsOf(layout); sample++) {
        const channel = plane + sample < colours ? plane + sample : 3;
        pixels[(y * width + x) * 4 + channel] = data[from + sample * sampleBytes] ?? 0;
      }
    }
  }
}

/** Converts the channels to RGB. */
function finish(pixels: Uint8ClampedArray, layout: Layout): void {
  for (let at = 0; at < pixels.length; at += 4) {
    if (layout.photometric === GREY) pixels.fill(pixels[at] ?? 0, at + 1, at + 3);
    if (layout.photometric === LAB) toRgb(pixels, at);
    const alpha = pixels[at + 3] ?? 0;
    if (layout.extra !== PREMULTIPLIED || alpha === 0) continue;
    for (let channel = at; channel < at + 3; channel++) {
      pixels[channel] = ((pixels[channel] ?? 0) * 255) / alpha;
    }
  }
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

/** The codes that clear the table and that end the data. Entries follow them (TIFF 6.0, section 13). */
const [CLEAR, END] = [256, 257];
const MOST_BITS = 12;

/** Unpacks TIFF's LZW into this many bytes. Returns `null` if the data are damaged or too short. */
function unpackLzw(packed: Uint8Array, bytes: number): Buffer | null {
  const out = Buffer.alloc(bytes);
  /** Where in `out` the text of each entry begins, and how long it is. */
  const starts = new Uint32Array(1 << MOST_BITS);
  const lengths = new Uint32Array(1 << MOST_BITS);
  lengths.fill(1, 0, CLEAR);
  let [next, bits, held, heldBits, written] = [END + 1, 9, 0, 0, 0];
  let before = -1;
  for (let from = 0; written < bytes; ) {
    while (heldBits < bits) {
      if (from >= packed.length) return null;
      held = ((held << 8) | (packed[from++] ?? 0)) & 0xffffff;
      heldBits += 8;
    }
    heldBits -= bits;
    const code = (held >> heldBits) & ((1 << bits) - 1);
    if (code === END) return null;
    if (code === CLEAR) {
      [next, bits, before] = [END + 1, 9, -1];
      continue;
    }
    if (code > next || (code === next && before < 0)) return null;
    const start = written;
    if (code < CLEAR) out[written++] = code;
    else {
      // The new entry is the previous text and the byte after it, which are already in `out`.
      const length = lengths[code === next ? before : code] ?? 0;
      const at = code === next ? start - (lengths[before] ?? 0) : (starts[code] ?? 0);
      const most = Math.min(bytes, written + length + (code === next ? 1 : 0));
      for (let place = at; written < most; ) out[written++] = out[place++] ?? 0;
    }
    // An entry is the previous text and the first byte of this one. They are adjacent, so it is a range of `out`.
    if (before >= 0 && next < 1 << MOST_BITS) {
      starts[next] = start - (lengths[before] ?? 0);
      lengths[next] = (lengths[before] ?? 0) + 1;
      next++;
    }
    before = code;
    // Codes become a bit longer one code early.
    if (next >= (1 << bits) - 1 && bits < MOST_BITS) bits++;
  }
  return out;
}
