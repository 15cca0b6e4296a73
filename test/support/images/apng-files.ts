import { crc32 } from 'node:zlib';
import sharp from 'sharp';

type Area = [x: number, y: number, width: number, height: number];
const WHOLE: Area = [0, 0, 40, 20];

/** One frame as it is stored. */
export interface ApngPart {
  /** The area that it covers. Default: the whole 40 x 20. */
  area?: Area;
  /** Red, green, blue, alpha. */
  colour: [number, number, number, number];
  /** What happens to it afterwards: 0 stays, 1 is cleared, 2 is restored. */
  dispose?: 0 | 1 | 2;
  /** Whether it is blended with what is there, or replaces it. */
  over?: boolean;
  /** In ms. */
  delay?: number;
}

/** An animated PNG of 40 x 20 pixels; with `still`, a picture before it that is not part of the animation. */
export async function apng(
  parts: ApngPart[],
  {
    plays = 2,
    still = false,
    announced = parts.length,
  }: { plays?: number; still?: boolean; announced?: number } = {},
): Promise<Buffer> {
  const chunks: Buffer[] = [
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', words(40, 20), [8, 6, 0, 0, 0]),
    chunk('acTL', words(announced, plays)),
  ];
  if (still) chunks.push(chunk('IDAT', await pixels(WHOLE, [1, 2, 3, 255])));
  let sequence = 0;
  for (const [index, part] of parts.entries()) {
    const { area = WHOLE, colour, dispose = 0, over = false, delay = 100 } = part;
    const [x, y, width, height] = area;
    const control = [delay >> 8, delay & 255, 1000 >> 8, 1000 & 255, dispose, Number(over)];
    chunks.push(chunk('fcTL', words(sequence++, width, height, x, y), control));
    const data = await pixels(area, colour);
    if (index === 0 && !still) chunks.push(chunk('IDAT', data));
    else chunks.push(chunk('fdAT', words(sequence++), data));
  }
  return Buffer.concat([...chunks, chunk('IEND')]);
}

async function pixels([, , width, height]: Area, colour: number[]): Promise<Buffer> {
  const rgba = Buffer.alloc(width * height * 4, Buffer.from(colour));
  const png = await sharp(rgba, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer();
  const pieces: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      pieces.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  return Buffer.concat(pieces);
}

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [place, value] of values.entries()) bytes.writeUInt32BE(value, place * 4);
  return bytes;
}

/** A chunk of a PNG file, with its length and checksum. */
export function chunk(type: string, ...data: (Buffer | number[])[]): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), ...data.map((piece) => Buffer.from(piece))]);
  return Buffer.concat([words(body.length - 4), body, words(crc32(body))]);
}
