import sharp from 'sharp';
import { chunk } from './apng-files.ts';

export type Colour = readonly [number, number, number];

const WIDTH = 16;
const HEIGHT = 16;

/** Stripes of those colours, side by side, as PNG. */
export function stripes(colours: readonly Colour[]): Promise<Buffer> {
  const row = Buffer.concat(colours.map((colour) => Buffer.alloc(WIDTH * 3, Buffer.from(colour))));
  const raw = { width: WIDTH * colours.length, height: HEIGHT, channels: 3 as const };
  return sharp(Buffer.concat(Array(HEIGHT).fill(row)), { raw })
    .png()
    .toBuffer();
}

/** The colours in the middles of so many stripes. */
export async function stripeColours(picture: Buffer, count: number): Promise<Colour[]> {
  const { data, info } = await sharp(picture)
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return Array.from({ length: count }, (_, stripe) => {
    const at = (Math.floor(info.height / 2) * info.width + WIDTH * stripe + WIDTH / 2) * info.channels;
    return [data[at] ?? 0, data[at + 1] ?? 0, data[at + 2] ?? 0] as const;
  });
}

/** How far apart two sRGB colours look (CIE 1976). */
export function deltaE(one: Colour, other: Colour): number {
  const [a, b] = [labOf(one), labOf(other)];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

function labOf(colour: Colour): Colour {
  const [r, g, b] = colour.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Colour;
  const [x, y, z] = [
    (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047,
    0.2126729 * r + 0.7151522 * g + 0.072175 * b,
    (0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883,
  ].map((value) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116)) as unknown as Colour;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** Writes into an AVIF file, which must say how its numbers are colours, another way (ITU-T H.273). */
export function withNclx(avif: Buffer, primaries: number, transfer: number): Buffer {
  const made = Buffer.from(avif);
  const at = made.indexOf('colrnclx');
  if (at < 0) throw new Error('The picture has no codes for its colours.');
  made.writeUInt16BE(primaries, at + 8);
  made.writeUInt16BE(transfer, at + 10);
  return made;
}

/** Adds to a PNG file how its numbers are colours. */
export function withCicp(png: Buffer, primaries: number, transfer: number): Buffer {
  return withChunk(png, 'cICP', Buffer.from([primaries, transfer, 0, 1]));
}

/** Adds a chunk behind the header. */
export function withChunk(png: Buffer, type: string, data: Buffer): Buffer {
  return Buffer.concat([png.subarray(0, 33), chunk(type, data), png.subarray(33)]);
}

/** Of Adobe RGB (1998): red, green and blue in XYZ for D50, as all profiles have them, and the gamma. */
const ADOBE_RGB = {
  red: [0.60974, 0.31111, 0.01947],
  green: [0.20528, 0.62567, 0.06087],
  blue: [0.14919, 0.06322, 0.74457],
} as const;

/** A colour profile of Adobe RGB (ICC.1:2001-04), with other tags. */
export function adobeProfile(others: Record<string, Buffer> = {}): Buffer {
  const curve = Buffer.concat([
    Buffer.from('637572760000000000000001023300000', 'hex').subarray(0, 14),
    Buffer.alloc(2),
  ]);
  return profileOf('RGB ', {
    rXYZ: xyz(ADOBE_RGB.red),
    gXYZ: xyz(ADOBE_RGB.green),
    bXYZ: xyz(ADOBE_RGB.blue),
    wtpt: xyz([0.9505, 1, 1.0891]),
    ...{ rTRC: curve, gTRC: curve, bTRC: curve, ...others },
  });
}

/** A profile of grey whose numbers are light. */
export function linearGrey(): Buffer {
  return profileOf('GRAY', {
    wtpt: xyz([0.9642, 1, 0.82491]),
    kTRC: Buffer.from('curv\0\0\0\0\0\0\0\0', 'latin1'),
  });
}

function profileOf(space: string, tags: Record<string, Buffer>): Buffer {
  const all = Object.entries(tags);
  const header = Buffer.alloc(128 + 4 + all.length * 12);
  header.writeUInt32BE(0x02100000, 8);
  header.write(`mntr${space}XYZ `, 12, 'latin1');
  header.write('acsp', 36, 'latin1');
  header.set(xyz([0.9642, 1, 0.82491]).subarray(8), 68);
  header.writeUInt32BE(all.length, 128);
  let offset = header.length;
  for (const [index, [name, data]] of all.entries()) {
    header.write(name, 132 + index * 12, 'latin1');
    header.writeUInt32BE(offset, 136 + index * 12);
    header.writeUInt32BE(data.length, 140 + index * 12);
    offset += data.length;
  }
  header.writeUInt32BE(offset, 0);
  return Buffer.concat([header, ...Object.values(tags)]);
}

function xyz(values: readonly number[]): Buffer {
  const tag = Buffer.alloc(20);
  tag.write('XYZ ', 0, 'latin1');
  for (const [place, value] of values.entries()) tag.writeInt32BE(Math.round(value * 65_536), 8 + place * 4);
  return tag;
}
