import { crc32 } from 'node:zlib';
import type { Metadata } from '../convert/sharp.ts';
import { long, saysMore } from './bytes.ts';
import type { Cicp } from './cicp.ts';

export const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

interface Chunk {
  type: string;
  data: Buffer;
}

/** Yields the chunks of a PNG file up to the first damaged one. */
export function* chunksOf(file: Buffer): Generator<Chunk> {
  for (let at = PNG_SIGNATURE.length; at + 12 <= file.length; ) {
    const end = at + 8 + file.readUInt32BE(at);
    if (end + 4 > file.length || crc32(file.subarray(at + 4, end)) !== file.readUInt32BE(end)) return;
    yield { type: file.toString('latin1', at + 4, at + 8), data: file.subarray(at + 8, end) };
    at = end + 4;
  }
}

/** Returns a chunk in parts: length, name, data, checksum. */
export function writeChunk(type: string, data: Buffer): Buffer[] {
  const name = Buffer.from(type, 'latin1');
  const sum = crc32(data, crc32(name));
  return [Buffer.from(long(data.length)), name, data, Buffer.from(long(sum))];
}

/** Returns the first chunk of a PNG file with 8 bits a channel, in parts. */
export function writeHeader(
  { width, height }: { width: number; height: number },
  colourType: number,
): Buffer[] {
  return writeChunk('IHDR', Buffer.from([...long(width), ...long(height), 8, colourType, 0, 0, 0]));
}

/** Numbers with about this gamma are shown as sRGB. */
const USUAL_GAMMA = 2.2;

const XMP = 'XML:com.adobe.xmp\0';
/** The time, and chunks of programs (PNG, third edition, section 5.4), but not of animations, Content Credentials and ImageMagick's canvas. */
const TELLING = /^(tIME|(?!acTL|fcTL|fdAT|caBX|vpAg|caNv|orNT).[a-z])/;

/**
 * Returns how the numbers of a file represent colours, if a `cICP` chunk says so, or a `gAMA` chunk without `sRGB` (PNG, third edition,
 * sections 4.3 and 11.3.2), and the metadata that sharp does not read: the time, what programs add, and what is behind the pixels, where ImageMagick writes it, or behind all.
 */
export function readChunks(file: Buffer) {
  const told: Pick<Metadata, 'exif' | 'xmp'> = {};
  const seen = new Set<string>();
  let [isBehind, tells, gamma, end] = [false, false, USUAL_GAMMA, PNG_SIGNATURE.length];
  let codes: Cicp | null = null;
  for (const { type, data } of chunksOf(file)) {
    end += 12 + data.length;
    if (type === 'IEND') {
      tells ||= saysMore(file.subarray(end));
      break;
    }
    isBehind ||= type === 'IDAT';
    const isXmp = type === 'iTXt' && data.toString('latin1', 0, XMP.length) === XMP;
    if (type === 'eXIf' || isXmp) {
      const kind = isXmp ? 'xmp' : 'exif';
      // A copy, so that the file does not stay in memory with it. Of several, the first one counts.
      if (isBehind && !seen.has(kind)) told[kind] = Buffer.from(data);
      seen.add(kind);
    } else tells ||= TELLING.test(type) || (isBehind && ['tEXt', 'zTXt', 'iTXt'].includes(type));
    if (isBehind) continue;
    if (type === 'cICP' && data.length === 4) codes ??= { primaries: data[0] ?? 0, transfer: data[1] ?? 0 };
    if (type === 'gAMA' && data.length === 4) gamma = 100_000 / data.readUInt32BE();
    if (type === 'sRGB') seen.add(type);
  }
  const isUsual = seen.has('sRGB') || !(gamma >= 0.5 && gamma <= 4) || Math.abs(gamma - USUAL_GAMMA) < 0.1;
  return { told, tells, cicp: codes ?? (isUsual ? null : { primaries: 1, transfer: 1, gamma }) };
}
