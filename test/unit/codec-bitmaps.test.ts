import { describe, expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { readHeader } from '../../src/codec/convert/header.ts';
import { startCodec } from '../support/codec/codec.ts';
import { type BitmapForm, bitmap, bitmapOf, directory, icon } from '../support/images/bitmap-files.ts';
import { pngBomb } from '../support/images/hostile-images.ts';
import { QUARTERS, quarterColours, quarters } from '../support/images/images.ts';
import { shared } from '../support/shared.ts';
import { withFolder } from '../support/temporary.ts';

const bench = shared(() => startCodec({ sandbox: 'require' }));

const exact = QUARTERS.map((colour) => [...colour]);

async function alphaAt(picture: Buffer, x: number, y: number): Promise<number | undefined> {
  const { data, info } = await sharp(picture).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return data[(y * info.width + x) * 4 + 3];
}

describe('a BMP picture', () => {
  test('of 32 bits may be transparent', async () => {
    const { bytes } = await bench.convert(bitmap({ depth: 32, alpha: true }), { format: 'png' });
    expect(await quarterColours(await sharp(bytes).removeAlpha().png().toBuffer())).toEqual(exact);
    expect([await alphaAt(bytes, 1, 1), await alphaAt(bytes, 8, 1)]).toEqual([0, 255]);
  });

  test('without a mask for blue has no blue', async () => {
    const file = bitmap({ depth: 32, alpha: true });
    file.writeUInt32LE(0, 14 + 40 + 8);
    const { bytes } = await bench.convert(file, { format: 'png' });
    const colours = await quarterColours(await sharp(bytes).removeAlpha().png().toBuffer());
    expect(colours).toEqual(exact.map(([red = 0, green = 0]) => [red, green, 0]));
  });

  test('of 1 bit has two colours', async () => {
    const { bytes } = await bench.convert(bitmap({ depth: 1 }), { format: 'png' });
    expect(await quarterColours(bytes)).toEqual([0, 0, 1, 1].map((index) => exact[index] ?? []));
  });

  test('has its colours, even if it says that the pixels are where the palette is', async () => {
    const file = bitmap({ depth: 8 });
    file.writeUInt32LE(54, 10);
    const { bytes } = await bench.convert(file, { format: 'png' });
    expect((await sharp(bytes).stats()).channels.slice(0, 3).map(({ max }) => max)).toEqual([240, 240, 240]);
  });

  test('becomes WebP automatically, lossless for a drawing', async () => {
    const pixels = await quarters().raw().toBuffer();
    const { format, bytes } = await bench.convert(bitmapOf(pixels, 96, 64), { format: 'auto' });
    expect(format).toBe('webp');
    expect(await sharp(bytes).removeAlpha().raw().toBuffer()).toEqual(pixels);
  });

  test.each([
    ['has truncated run lengths', bitmap({ depth: 8, packed: true }).subarray(0, -30)],
    ['has no pixels', bitmap({ depth: 8 }).subarray(0, 40)],
    ['ends in its header', bitmap({ depth: 8 }).subarray(0, 20)],
  ])('that %s is refused', async (_, bytes) => {
    await expect(bench.convert(bytes)).rejects.toMatchObject({ code: 'undecodable_image' });
  });

  test('with too many pixels is refused before it is decoded', async () => {
    const bytes = bitmap({ depth: 8, packed: true });
    bytes.writeInt32LE(20_000, 18);
    bytes.writeInt32LE(20_000, 22);
    await expect(bench.convert(bytes)).rejects.toMatchObject({ code: 'image_limit' });
  });
});

describe('an icon', () => {
  test.each([
    ['a bitmap', { depth: 24 }],
    ['a bitmap with a palette', { depth: 4 }],
  ] as [string, BitmapForm][])('gives %s, its largest picture, with its mask', async (_, form) => {
    const { bytes, ...made } = await bench.convert(icon(form), { format: 'png' });
    expect(made).toMatchObject({ width: 10, height: 6, frames: 1, warnings: [] });
    expect([await alphaAt(bytes, 3, 0), await alphaAt(bytes, 3, 1)]).toEqual([0, 255]);
    expect(await quarterColours(bytes)).toEqual(exact);
  });

  test('has the size that its picture says, whatever its directory does', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'icon');
      await writeFile(path, icon());
      expect((await readHeader(path))?.size).toEqual({ width: 10, height: 6 });
      await writeFile(path, directory([{ data: pngBomb(6000, 4000, 1), width: 256, height: 256 }]));
      expect((await readHeader(path))?.size).toEqual({ width: 6000, height: 4000 });
    });
  });
});
