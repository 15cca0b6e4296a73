import { checkLimits } from '../convert/limits.ts';
import type { InputLimits } from '../workers/protocol.ts';
import { damaged, isAlpha } from './bytes.ts';
import { type Pixels, writePng } from './png.ts';
import { PNG_SIGNATURE } from './png-chunks.ts';

/** Precedes the header in a file, but not in an icon. */
const FILE_HEADER_BYTES = 14;
/** Headers by size: OS/2's first, that of Windows 3, and the one with a profile (MS-WMF 2.2.2, wingdi.h). */
const CORE_BYTES = 12;
const INFO_BYTES = 40;
const MASKS_BYTES = 52;
const ALPHA_BYTES = 56;
const PROFILE_BYTES = 124;
const HEADERS = [42, 46, 108, PROFILE_BYTES];
const EMBEDDED_PROFILE = 0x4d424544;

const [RGB, RLE8, RLE4, BIT_FIELDS, ALPHA_BIT_FIELDS] = [0, 1, 2, 3, 6];
const DEPTHS = [1, 2, 4, 8, 16, 24, 32];

interface Bitmap {
  headerBytes: number;
  width: number;
  height: number;
  topDown: boolean;
  depth: number;
  compression: number;
  colours: number;
}

/** Offsets of the parts of a bitmap. */
interface Layout extends Bitmap {
  /** Masks of red, green, blue and alpha in a pixel; empty for bitmaps with a palette. */
  masks: number[];
  paletteAt: number;
  pixelsAt: number;
}

/**
 * Decodes a BMP file: 1 to 32 bits a pixel, palettes, bit fields, both run-length encodings, either row order.
 * @throws {AppError} `image_limit`; anything else if it is damaged or truncated.
 */
export function decodeBmp(file: Buffer, limits: InputLimits): Pixels {
  const dib = file.subarray(FILE_HEADER_BYTES);
  if (file.length < FILE_HEADER_BYTES + CORE_BYTES) throw damaged();
  return decodeBitmap(dib, limits, { pixelsAt: file.readUInt32LE(10) - FILE_HEADER_BYTES });
}

/** `isIcon`: its header gives twice the height, and its mask shows where it is transparent. */
function decodeBitmap(
  dib: Buffer,
  limits: InputLimits,
  { pixelsAt, isIcon = false }: { pixelsAt?: number; isIcon?: boolean },
): Pixels {
  const bitmap = readBitmap(dib);
  if (isIcon) bitmap.height = Math.floor(bitmap.height / 2);
  const { width, height } = bitmap;
  if (width < 1 || height < 1) throw damaged();
  checkLimits({ width, height, frames: 1 }, limits);
  const layout = layOut(dib, bitmap, pixelsAt);
  const pixels = new Uint8ClampedArray(width * height * 4);
  const rows = rowsOf(dib, layout);
  if (layout.depth <= 8) drawIndexed(rows, layout, paletteOf(dib, layout), pixels);
  else drawDirect(rows, layout, pixels, isIcon);
  // Without alpha, and from writers without support for it, all are zeros.
  const hasAlpha = !isAlpha(0, pixels);
  if (isIcon && !hasAlpha)
    applyMask(dib.subarray(layout.pixelsAt + strideOf(layout) * height), layout, pixels);
  return { pixels, width, height, hasAlpha: hasAlpha || isIcon, icc: profileOf(dib, layout) };
}

function readBitmap(dib: Buffer): Bitmap {
  const headerBytes = dib.length < 4 ? 0 : dib.readUInt32LE(0);
  if (headerBytes === CORE_BYTES && dib.length >= CORE_BYTES) {
    const [width, height, depth] = [dib.readUInt16LE(4), dib.readUInt16LE(6), dib.readUInt16LE(10)];
    return known({ headerBytes, width, height, topDown: false, depth, compression: RGB, colours: 0 });
  }
  // OS/2's second header may end after any field; missing fields are zero.
  const isKnown =
    HEADERS.includes(headerBytes) || (headerBytes >= 16 && headerBytes <= 64 && headerBytes % 4 === 0);
  if (!isKnown || dib.length < headerBytes) throw damaged();
  const long = (at: number) => (at + 4 > headerBytes ? 0 : dib.readUInt32LE(at));
  const height = dib.readInt32LE(8);
  return known({
    headerBytes,
    width: dib.readInt32LE(4),
    height: Math.abs(height),
    topDown: height < 0,
    depth: dib.readUInt16LE(14),
    compression: long(16),
    colours: long(32),
  });
}

function known(bitmap: Bitmap): Bitmap {
  const { depth, compression, headerBytes } = bitmap;
  // 64: OS/2, which uses these numbers for other compressions.
  const packs = headerBytes === 64 ? [RGB, RLE8, RLE4] : [RGB, RLE8, RLE4, BIT_FIELDS, ALPHA_BIT_FIELDS];
  const fits =
    compression === RGB ||
    (compression === RLE8 && depth === 8) ||
    (compression === RLE4 && depth === 4) ||
    (compression >= BIT_FIELDS && (depth === 16 || depth === 32));
  // Other decoders read the number of colours as signed, and reject negative numbers.
  const isCounted = bitmap.colours < 2 ** 31;
  if (!DEPTHS.includes(depth) || !packs.includes(compression) || !fits || !isCounted) throw damaged();
  return bitmap;
}

function layOut(dib: Buffer, bitmap: Bitmap, pixelsAt: number | undefined): Layout {
  const { headerBytes, depth, compression, colours } = bitmap;
  const hasFields = compression >= BIT_FIELDS;
  const outside = hasFields && headerBytes === INFO_BYTES ? (compression === ALPHA_BIT_FIELDS ? 16 : 12) : 0;
  const paletteAt = headerBytes + outside;
  const entries = depth <= 8 ? Math.min(colours || 2 ** depth, 256) : colours;
  const behind = paletteAt + entries * (headerBytes === CORE_BYTES ? 3 : 4);
  // Zero in some old files: the pixels then follow the palette.
  const at = pixelsAt !== undefined && pixelsAt >= headerBytes ? pixelsAt : behind;
  return { ...bitmap, masks: masksOf(dib, bitmap, outside), paletteAt, pixelsAt: at };
}

function masksOf(dib: Buffer, { headerBytes, depth, compression }: Bitmap, outside: number): number[] {
  if (compression < BIT_FIELDS) return depth === 16 ? [0x7c00, 0x3e0, 0x1f, 0] : [0xff0000, 0xff00, 0xff, 0];
  const end = outside > 0 ? headerBytes + outside : headerBytes;
  const count = outside === 12 || (outside === 0 && headerBytes < ALPHA_BYTES) ? 3 : 4;
  if (end < MASKS_BYTES || dib.length < end) throw damaged();
  return [0, 1, 2, 3].map((mask) => (mask < count ? dib.readUInt32LE(INFO_BYTES + mask * 4) : 0));
}

/** Blue, green, red, and a fourth byte unless the header is OS/2's first. */
function paletteOf(dib: Buffer, { headerBytes, paletteAt, pixelsAt, depth }: Layout): Buffer {
  const bytes = headerBytes === CORE_BYTES ? 3 : 4;
  // Some programs forget the palette when they write where the pixels are.
  const end = pixelsAt > paletteAt ? Math.min(pixelsAt, dib.length) : dib.length;
  const room = Math.max(0, end - paletteAt);
  const palette = Buffer.alloc(2 ** depth * 3);
  for (let entry = 0; entry < Math.min(2 ** depth, Math.floor(room / bytes)); entry++) {
    dib.copy(palette, entry * 3, paletteAt + entry * bytes, paletteAt + entry * bytes + 3);
  }
  return palette;
}

/** Bytes of a row, padded to a multiple of four. */
function strideOf({ width, depth }: Pick<Layout, 'width' | 'depth'>): number {
  return Math.ceil((width * depth) / 32) * 4;
}

/** Returns the uncompressed rows in the order of the file. */
function rowsOf(dib: Buffer, layout: Layout): Buffer {
  const { width, height, depth, compression, pixelsAt } = layout;
  const packed = dib.subarray(pixelsAt);
  if (compression === RLE8 || compression === RLE4) {
    return unpackRunLengths(packed, { width, height, depth: depth === 4 ? 4 : 8, stride: strideOf(layout) });
  }
  // Writers leave out the padding of the last row.
  const last = Math.ceil((width * depth) / 8);
  if (packed.length < strideOf(layout) * (height - 1) + last) throw damaged();
  return packed;
}

function drawIndexed(rows: Buffer, layout: Layout, palette: Buffer, pixels: Uint8ClampedArray): void {
  const { width, height, topDown, depth } = layout;
  const stride = strideOf(layout);
  const mask = 2 ** depth - 1;
  for (let y = 0; y < height; y++) {
    const from = y * stride;
    let to = (topDown ? y : height - 1 - y) * width * 4;
    for (let x = 0; x < width; x++, to += 4) {
      const bit = x * depth;
      const index = ((rows[from + (bit >> 3)] ?? 0) >> (8 - depth - (bit & 7))) & mask;
      pixels[to] = palette[index * 3 + 2] ?? 0;
      pixels[to + 1] = palette[index * 3 + 1] ?? 0;
      pixels[to + 2] = palette[index * 3] ?? 0;
    }
  }
}

function drawDirect(rows: Buffer, layout: Layout, pixels: Uint8ClampedArray, isIcon: boolean): void {
  const { width, height, topDown, depth, compression } = layout;
  const stride = strideOf(layout);
  const bytes = depth / 8;
  const plainAlpha = isIcon && depth === 32 && compression === RGB;
  const channels = layout.masks.map((mask, place) =>
    channelOf(place === 3 && plainAlpha ? 0xff000000 : mask),
  );
  for (let y = 0; y < height; y++) {
    let from = y * stride;
    let to = (topDown ? y : height - 1 - y) * width * 4;
    for (let x = 0; x < width; x++, from += bytes, to += 4) {
      const value =
        (rows[from] ?? 0) |
        ((rows[from + 1] ?? 0) << 8) |
        (bytes > 2 ? (rows[from + 2] ?? 0) << 16 : 0) |
        (bytes > 3 ? (rows[from + 3] ?? 0) << 24 : 0);
      for (let place = 0; place < 4; place++) {
        const channel = channels[place];
        pixels[to + place] = channel ? ((value & channel.mask) >>> channel.shift) * channel.scale : 0;
      }
    }
  }
}

/** How to read a channel; `null` if pixels do not have it. */
function channelOf(mask: number): { mask: number; shift: number; scale: number } | null {
  if (mask === 0) return null;
  const shift = 31 - Math.clz32(mask & -mask);
  return { mask, shift, scale: 255 / (mask >>> shift) };
}

/** One bit a pixel: if set, the pixel is transparent. Icons without a mask are opaque. */
function applyMask(mask: Buffer, { width, height, topDown }: Layout, pixels: Uint8ClampedArray): void {
  const stride = strideOf({ width, depth: 1 });
  for (let y = 0; y < height; y++) {
    const to = (topDown ? y : height - 1 - y) * width * 4 + 3;
    for (let x = 0; x < width; x++) {
      const isHidden = ((mask[y * stride + (x >> 3)] ?? 0) >> (7 - (x & 7))) & 1;
      pixels[to + x * 4] = isHidden ? 0 : 255;
    }
  }
}

function profileOf(dib: Buffer, { headerBytes }: Layout): Buffer | undefined {
  if (headerBytes < PROFILE_BYTES || dib.readUInt32LE(56) !== EMBEDDED_PROFILE) return undefined;
  const [at, size] = [dib.readUInt32LE(112), dib.readUInt32LE(116)];
  return size > 0 && at + size <= dib.length ? dib.subarray(at, at + size) : undefined;
}

/**
 * Codes after a zero: the row ends, the picture ends, the position moves. Any other is a number of literal pixels.
 */
const [END_OF_ROW, END, MOVE] = [0, 1, 2];

/**
 * Unpacks the run lengths of a BMP (BI_RLE8 and BI_RLE4) to rows of `stride` bytes. Skipped pixels get index 0.
 */
function unpackRunLengths(
  packed: Buffer,
  { width, height, depth, stride }: { width: number; height: number; depth: 4 | 8; stride: number },
): Buffer {
  const rows = Buffer.alloc(stride * height);
  let [x, y, at] = [0, 0, 0];
  const draw = (count: number, indexOf: (pixel: number) => number) => {
    // A run may go beyond its row, where it is not visible, and would take time.
    const seen = Math.min(count, width - x);
    for (let pixel = 0; pixel < seen; pixel++) {
      const index = indexOf(pixel);
      const place = y * stride + (((x + pixel) * depth) >> 3);
      if (depth === 8) rows[place] = index;
      else rows[place] = (rows[place] ?? 0) | ((x + pixel) & 1 ? index : index << 4);
    }
    x += count;
  };
  while (y < height) {
    if (at + 2 > packed.length) {
      // Some writers leave out the end mark.
      if (y >= height - 1) return rows;
      throw damaged();
    }
    const count = packed[at++] ?? 0;
    const value = packed[at++] ?? 0;
    if (count > 0) {
      draw(count, (pixel) => (depth === 8 ? value : pixel & 1 ? value & 15 : value >> 4));
    } else if (value === END_OF_ROW) {
      x = 0;
      y++;
    } else if (value === END) return rows;
    else if (value === MOVE) {
      x += packed[at++] ?? 0;
      y += packed[at++] ?? 0;
    } else {
      const bytes = Math.ceil((value * depth) / 8);
      if (at + bytes > packed.length) throw damaged();
      draw(value, (pixel) => {
        const byte = packed[at + ((pixel * depth) >> 3)] ?? 0;
        return depth === 8 ? byte : pixel & 1 ? byte & 15 : byte >> 4;
      });
      at += bytes + (bytes & 1);
    }
  }
  return rows;
}

const ENTRY_BYTES = 16;

/**
 * Returns the largest picture of a Windows icon or cursor as a PNG. The others are the same picture in other sizes.
 * @throws {AppError} `image_limit`; anything else if it is damaged or empty.
 */
export function iconAsPng(file: Buffer, limits: InputLimits): Buffer {
  const at = largestIn(file, file.length);
  if (at === undefined) throw damaged();
  const data = file.subarray(at);
  if (data.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return data;
  return writePng({ ...decodeBitmap(data, limits, { isIcon: true }), level: 1 });
}

/**
 * Returns where the largest picture begins that is within the file; of several, the one with the most colours.
 * `head`: as much of the file as its directory takes.
 */
export function largestIn(head: Buffer, fileBytes: number): number | undefined {
  const count = head.length < 6 ? 0 : head.readUInt16LE(4);
  const isIcon = head.length >= 4 && head.readUInt16LE(2) === 1;
  const entries = Array.from({ length: Math.min(count, 256) }, (_, entry) => 6 + entry * ENTRY_BYTES).flatMap(
    (at) => {
      if (at + ENTRY_BYTES > head.length) return [];
      // The size is often wrong, but a picture knows its own end.
      const offset = head.readUInt32LE(at + 12);
      if (offset + ENTRY_BYTES > fileBytes) return [];
      // A cursor stores its hotspot instead of planes and depth.
      const depth = isIcon ? head.readUInt16LE(at + 6) : 0;
      return [{ pixels: (head[at] || 256) * (head[at + 1] || 256), depth, offset }];
    },
  );
  return entries.sort((a, b) => b.pixels - a.pixels || b.depth - a.depth)[0]?.offset;
}
