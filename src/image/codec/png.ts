import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
/** Colour types by the number of channels. */
const COLOUR_TYPES = { 3: 2, 4: 6 } as const;
/** Offset of the first image file directory, its entries, and the tag for turning (TIFF 6.0, section 2; EXIF 2.32). */
const ORIENTATION = 0x0112;

export interface Pixels {
  /** RGBA, 8 bits each, row by row. */
  pixels: Uint8ClampedArray<ArrayBuffer>;
  width: number;
  height: number;
  /** False: the fourth value of each pixel is left out. */
  hasAlpha: boolean;
  /** Colour profile. */
  icc?: Buffer | undefined;
  /** As sharp gives it: with or without `Exif\0\0` before it. */
  exif?: Buffer | undefined;
}

/** Pixels as a PNG file without compression (PNG, third edition), upright whatever their EXIF said. */
export function writePng({ pixels, width, height, hasAlpha, icc, exif }: Pixels): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const channels = hasAlpha ? 4 : 3;
  header.set([8, COLOUR_TYPES[channels]], 8);
  // Each row begins with the number of its filter: none.
  const rows = Buffer.alloc((width * channels + 1) * height);
  for (let from = 0, to = 0; from < pixels.length; ) {
    if (from % (width * 4) === 0) to++;
    for (let channel = 0; channel < channels; channel++) rows[to++] = pixels[from + channel] ?? 0;
    from += 4;
  }
  return Buffer.concat([
    SIGNATURE,
    ...chunk('IHDR', header),
    ...(icc ? chunk('iCCP', Buffer.concat([Buffer.from('profile\0\0'), deflateSync(icc)])) : []),
    ...(exif ? chunk('eXIf', upright(exif)) : []),
    ...chunk('IDAT', deflateSync(rows, { level: 0 })),
    ...chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer[] {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length, 0);
  head.write(type, 4, 'latin1');
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(data, crc32(head.subarray(4))), 0);
  return [head, data, sum];
}

/** A copy that says that the picture stands upright. */
function upright(exif: Buffer): Buffer {
  const tiff = Buffer.from(exif.toString('latin1', 0, 6) === 'Exif\0\0' ? exif.subarray(6) : exif);
  const little = tiff.toString('latin1', 0, 2) === 'II';
  const short = (at: number) =>
    at + 2 > tiff.length ? 0 : little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at);
  const first = tiff.length < 8 ? 0 : little ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  for (let entry = 0; entry < short(first); entry++) {
    const at = first + 2 + entry * 12;
    if (short(at) !== ORIENTATION || at + 10 > tiff.length) continue;
    if (little) tiff.writeUInt16LE(1, at + 8);
    else tiff.writeUInt16BE(1, at + 8);
  }
  return tiff;
}
