import { deflateSync } from 'node:zlib';
import { integersOf } from './bytes.ts';
import { PNG_SIGNATURE, writeChunk, writeHeader } from './png-chunks.ts';

/** Colour types by the number of channels. */
const COLOUR_TYPES = { 3: 2, 4: 6 } as const;
/** A tag of TIFF 6.0. */
const ORIENTATION = 0x0112;

/** Metadata as sharp returns them, EXIF with or without `Exif\0\0` before it. */
type Told = { [part in 'icc' | 'exif' | 'xmp']?: Buffer | undefined };

export interface Pixels extends Pick<Told, 'icc' | 'exif'> {
  /** RGBA, 8 bits each, row by row. */
  pixels: Uint8ClampedArray<ArrayBuffer>;
  width: number;
  height: number;
  /** If false, the fourth value of each pixel is left out. */
  hasAlpha: boolean;
  /** Compression level; 0, the default, means none. */
  level?: number;
}

/** Returns a PNG file (PNG, third edition) of the pixels, with an upright orientation in its EXIF. */
export function writePng({ pixels, width, height, hasAlpha, icc, exif, level = 0 }: Pixels): Buffer {
  const channels = hasAlpha ? 4 : 3;
  // Each row begins with the number of its filter: none.
  const rows = Buffer.alloc((width * channels + 1) * height);
  for (let from = 0, to = 0; from < pixels.length; ) {
    if (from % (width * 4) === 0) to++;
    for (let channel = 0; channel < channels; channel++) rows[to++] = pixels[from + channel] ?? 0;
    from += 4;
  }
  return Buffer.concat([
    PNG_SIGNATURE,
    ...writeHeader({ width, height }, COLOUR_TYPES[channels]),
    ...metadataChunks({ icc, exif }),
    ...writeChunk('IDAT', deflateSync(rows, { level })),
    ...writeChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Adds a profile, EXIF, with an upright orientation, and XMP to a PNG file, after its header. */
export function withMetadata(png: Buffer, told: Told): Buffer {
  const end = PNG_SIGNATURE.length + 25;
  return Buffer.concat([png.subarray(0, end), ...metadataChunks(told), png.subarray(end)]);
}

function metadataChunks({ icc, exif, xmp }: Told): Buffer[] {
  return [
    ...(icc ? writeChunk('iCCP', Buffer.concat([Buffer.from('profile\0\0'), deflateSync(icc)])) : []),
    ...(exif ? writeChunk('eXIf', upright(exif)) : []),
    ...(xmp ? writeChunk('iTXt', Buffer.concat([Buffer.from('XML:com.adobe.xmp\0\0\0\0\0'), xmp])) : []),
  ];
}

/** Returns a copy with an upright orientation. */
function upright(exif: Buffer): Buffer {
  const tiff = Buffer.from(exif.toString('latin1', 0, 6) === 'Exif\0\0' ? exif.subarray(6) : exif);
  const integers = integersOf(tiff);
  const short = (at: number) => (at + 2 > tiff.length ? 0 : integers.short(tiff, at));
  const first = tiff.length < 8 ? 0 : integers.long(tiff, 4);
  for (let entry = 0; entry < short(first); entry++) {
    const at = first + 2 + entry * 12;
    if (short(at) !== ORIENTATION || at + 10 > tiff.length) continue;
    if (integers.isLittle) tiff.writeUInt16LE(1, at + 8);
    else tiff.writeUInt16BE(1, at + 8);
  }
  return tiff;
}
