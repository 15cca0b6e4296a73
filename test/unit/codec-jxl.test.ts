import { describe, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { brotliCompressSync } from 'node:zlib';
import sharp from 'sharp';
import { startCodec } from '../support/codec/codec.ts';
import { privatePhoto } from '../support/images/images.ts';
import { shared } from '../support/shared.ts';

/** The quarters of `images.ts`, and three frames in the first three of their colours; both lossless, made by libjxl. */
const still = await readFile('test/fixtures/quarters.jxl');
const moving = await readFile('test/fixtures/moving.jxl');
const heic = await readFile('test/fixtures/display-p3.heic');

const bench = shared(() => startCodec({ sandbox: 'require', workers: 1 }));
const small = shared(() => startCodec({ maxFrames: 2, maxPixels: 3000 }));

const fileWith = (...metadata: Buffer[]) =>
  Buffer.concat([
    box('JXL ', Buffer.from([0x0d, 0x0a, 0x87, 0x0a])),
    box('ftyp', Buffer.from('jxl \0\0\0\0jxl ', 'latin1')),
    ...metadata,
    box('jxlc', still),
  ]);

describe('a JPEG XL picture', () => {
  test.each(['unpacked', 'packed by Brotli'])('keeps EXIF and XMP that are %s on request', async (how) => {
    const packed: typeof box = (type, body) =>
      box('brob', Buffer.concat([Buffer.from(type), brotliCompressSync(body)]));
    const written = how === 'unpacked' ? box : packed;
    const { exif = Buffer.alloc(0), xmp = exif } = await sharp(await privatePhoto('jpeg')).metadata();
    const told = written('Exif', Buffer.concat([Buffer.alloc(4), exif.subarray(6)]));
    const file = fileWith(told, written('xml ', xmp));
    const { bytes } = await bench.convert(file, { format: 'jpeg', stripExif: false });
    const kept = await sharp(bytes).metadata();
    expect([kept.exif?.includes('Secret-Harbour'), kept.xmp]).toEqual([true, xmp]);
    const stripped = await bench.convert(file);
    expect(stripped.removed).toEqual(['location', 'metadata']);
    expect((await sharp(stripped.bytes).metadata()).exif).toBeUndefined();
  });

  test('keeps XMP beside broken EXIF, but none of more bytes than pictures have', async () => {
    const xmp = Buffer.from('<x:xmpmeta/>');
    const file = fileWith(box('Exif', Buffer.alloc(0)), box('xml ', xmp));
    const { bytes } = await bench.convert(file, { stripExif: false });
    expect((await sharp(bytes).metadata()).xmp).toEqual(xmp);
    const large = box('xml ', Buffer.alloc(5e6, 32));
    // They are not kept, but told, also beside EXIF that is.
    expect((await bench.convert(fileWith(large))).removed).toEqual(['metadata']);
    const { exif = xmp } = await sharp(await privatePhoto('jpeg')).metadata();
    const told = box('Exif', Buffer.concat([Buffer.alloc(4), exif.subarray(6)]));
    const { warnings } = await bench.convert(fileWith(told, large), { stripExif: false });
    expect(warnings.map(({ code }) => code)).toContain('metadata_dropped');
  });

  test('can be decoded by a worker that has decoded HEIC, within the memory limit', async () => {
    await bench.convert(heic);
    expect((await bench.convert(still)).width).toBe(96);
  });

  test.each([
    ['is nothing but its first bytes', Buffer.from([0xff, 0x0a, 0, 0])],
    ['is damaged', Buffer.from(still.map((byte, at) => (at > 20 && at % 7 === 0 ? byte ^ 0x55 : byte)))],
  ])('that %s is refused, and the next one is not', async (_, file) => {
    await expect(bench.convert(file)).rejects.toMatchObject({ code: 'undecodable_image' });
    expect((await bench.convert(still)).width).toBe(96);
  });

  test('counts with all its frames towards the limits', async () => {
    await expect(small.convert(moving)).rejects.toMatchObject({ code: 'image_limit' });
    await expect(small.convert(still)).rejects.toMatchObject({ code: 'image_limit' });
  });
});

function box(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
}
