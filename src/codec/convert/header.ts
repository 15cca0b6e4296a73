import { stat } from 'node:fs/promises';
import { largestIn } from '../decoders/bmp.ts';
import { readHead } from '../decoders/bytes.ts';
import { type Segment, segments } from '../decoders/jpeg-parts.ts';

/** What the first bytes say. This is no proof: the decoder checks again. */
export interface Header {
  kind: 'jpeg' | 'png' | 'webp' | 'gif' | 'heif' | 'tiff' | 'bmp' | 'ico' | 'jxl';
  /** `null` if the first 64 KiB do not say. */
  size: { width: number; height: number } | null;
}

const HEAD_BYTES = 65_536;
/** Brands of pictures in ISO base media files (HEIF, clause 10; AVIF, clause 6). */
const HEIF_BRANDS = /^(avif|avis|heic|heix|heim|heis|hevc|hevx|mif1|msf1|mif2)/;

/** Reads the beginning of a file. Returns `null` for an unknown picture format. Takes well under 1 ms. */
export async function readHeader(path: string): Promise<Header | null> {
  const head = await readHead(path, HEAD_BYTES);
  const header = parseHeader(head);
  return header?.kind === 'ico' ? { ...header, size: await iconSize(path, head) } : header;
}

/** Reads the size that the picture itself says: the directory of an icon has no numbers above 256. */
async function iconSize(path: string, head: Buffer): Promise<Header['size']> {
  const { size } = await stat(path);
  const picture = await readHead(path, 30, largestIn(head, size));
  const png = parseHeader(picture);
  if (png) return png.size;
  // A bitmap without a file header, and with twice its height.
  const bitmap = bmpSize(Buffer.concat([Buffer.alloc(14), picture]));
  return bitmap && { width: bitmap.width, height: Math.floor(bitmap.height / 2) };
}

/** Returns the format and, if they are near the start, the dimensions. */
export function parseHeader(head: Buffer): Header | null {
  const text = head.toString('latin1', 0, 16);
  if (text.startsWith('\xff\xd8\xff')) return { kind: 'jpeg', size: jpegSize(head) };
  if (text.startsWith('\x89PNG\r\n\x1a\n'))
    return { kind: 'png', size: sizeAt(head, 16, 20, 'readUInt32BE') };
  if (/^GIF8[79]a/.test(text)) return { kind: 'gif', size: sizeAt(head, 6, 8, 'readUInt16LE') };
  if (/^RIFF.{4}WEBP/s.test(text)) return { kind: 'webp', size: webpSize(head) };
  if (text.startsWith('ftyp', 4) && HEIF_BRANDS.test(text.slice(8))) {
    return { kind: 'heif', size: heifSize(head) };
  }
  if (/^(II[*+]\0|MM\0[*+])/.test(text)) return { kind: 'tiff', size: null };
  if (/^(\xff\x0a|\0\0\0\x0cJXL )/.test(text)) return { kind: 'jxl', size: null };
  if (text.startsWith('BM')) return { kind: 'bmp', size: bmpSize(head) };
  if (isIcon(head)) return { kind: 'ico', size: null };
  return null;
}

type Reader = 'readUInt16BE' | 'readUInt16LE' | 'readUInt32BE';

function sizeAt(head: Buffer, widthAt: number, heightAt: number, reader: Reader): Header['size'] {
  const bytes = reader === 'readUInt32BE' ? 4 : 2;
  if (Math.max(widthAt, heightAt) + bytes > head.length) return null;
  return { width: head[reader](widthAt), height: head[reader](heightAt) };
}

/** Walks the segments to the frame header (ITU-T T.81, B.2.2). */
function jpegSize(head: Buffer): Header['size'] {
  const isFrame = ({ marker }: Segment) => (marker & 0xf0) === 0xc0 && ![0xc4, 0xc8, 0xcc].includes(marker);
  const frame = segments(head).find(isFrame);
  return frame ? sizeAt(head, frame.at + 3, frame.at + 1, 'readUInt16BE') : null;
}

/** Reads the canvas of the extended format, or the only frame of the lossless or the lossy one (RFC 9649). */
function webpSize(head: Buffer): Header['size'] {
  if (head.length < 30) return null;
  const chunk = head.toString('latin1', 12, 16);
  if (chunk === 'VP8X') return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
  if (chunk === 'VP8L') {
    const bits = head.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (chunk !== 'VP8 ') return null;
  return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
}

/**
 * Reads the size from OS/2's first header, or from any other, where rows from top to bottom have a negative height.
 */
function bmpSize(head: Buffer): Header['size'] {
  if (head.length < 26) return null;
  if (head.readUInt32LE(14) === 12) return sizeAt(head, 18, 20, 'readUInt16LE');
  return { width: head.readUInt32LE(18), height: Math.abs(head.readInt32LE(22)) };
}

/** Reports whether this is a directory with an entry (an empty one would be a Targa picture). */
function isIcon(head: Buffer): boolean {
  if (head.length < 22 || head.readUInt16LE(0) !== 0) return false;
  const [type, count] = [head.readUInt16LE(2), head.readUInt16LE(4)];
  return (type === 1 || type === 2) && count >= 1 && count <= 256;
}

/** Returns the largest `ispe` box, because tiles and thumbnails have their own; of an animation without a still picture, what its track says. */
function heifSize(head: Buffer): Header['size'] {
  let largest: Header['size'] = null;
  for (let at = head.indexOf('ispe'); at >= 0; at = head.indexOf('ispe', at + 4)) {
    const size = sizeAt(head, at + 8, at + 12, 'readUInt32BE');
    if (size && size.width * size.height > (largest ? largest.width * largest.height : 0)) largest = size;
  }
  const track = head.indexOf('av01', head.indexOf('stsd'));
  return largest ?? (track < 0 ? null : sizeAt(head, track + 28, track + 30, 'readUInt16BE'));
}
