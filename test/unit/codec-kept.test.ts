import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import sharp from 'sharp';
import { bareFile } from '../../src/codec/kept/bare.ts';
import { type CodecBench, startCodec } from '../support/codec/codec.ts';
import { animation, photo } from '../support/images/images.ts';
import { mutant } from '../support/images/mutants.ts';
import { needlessBytes } from '../support/images/needless-bytes.ts';

let bench: CodecBench;
beforeAll(async () => {
  bench = await startCodec({ sandbox: 'require' });
});
afterAll(() => bench.stop());

/** Files that any new encoding would make larger. */
const SMALL = {
  jpeg: async () =>
    sharp(await photo(320, 240))
      .jpeg({ quality: 20, mozjpeg: true })
      .toBuffer(),
  png: async () =>
    sharp(await photo(480, 360))
      .png({ compressionLevel: 9, adaptiveFiltering: true })
      .toBuffer(),
  webp: async () =>
    sharp(await photo(320, 240))
      .webp({ quality: 10, effort: 6 })
      .toBuffer(),
  avif: async () =>
    sharp(await photo(320, 240))
      .avif({ quality: 10 })
      .toBuffer(),
  gif: async () =>
    sharp(await photo(160, 120))
      .gif({ colours: 8, effort: 10 })
      .toBuffer(),
};
const FORMATS = Object.keys(SMALL) as (keyof typeof SMALL)[];

describe.each(FORMATS)('a small %s that keeps its format', (format) => {
  test('is stored as it came, and says so', async () => {
    const file = await SMALL[format]();
    const { bytes, original, warnings } = await bench.convert(file, { format: 'auto' });
    expect(original).toMatchObject({ format, size: file.length, kept: true, quality: null });
    expect(bytes.length).toBeLessThanOrEqual(file.length);
    expect(warnings).toEqual([]);
    const [before, after] = await Promise.all([file, bytes].map((one) => sharp(one).raw().toBuffer()));
    expect(after?.equals(before ?? Buffer.alloc(0))).toBe(true);
  });

  test('is stored without what was hidden in it or behind it', async () => {
    const file = await SMALL[format]();
    const left: number[] = [];
    for (let seed = 0; seed < 60; seed++) {
      const made = await bench.convert(mutant(file, format, seed), { format: 'auto' }).catch(() => null);
      if (!made) continue;
      expect(made.bytes.includes('a secret of the uploader')).toBe(false);
      if (made.original.kept) left.push(needlessBytes(made.bytes, format));
    }
    expect(left.length).toBeGreaterThan(0);
    expect(left.filter((bytes) => bytes > 0)).toEqual([]);
  });

  test('is never read beyond its end, wherever it is cut or changed', async () => {
    const file = await SMALL[format]();
    for (let length = 0; length < file.length; length += Math.ceil(file.length / 400))
      bareFile(file.subarray(0, length), format, false);
    for (let seed = 0; seed < 1200; seed++) bareFile(mutant(file, format, seed), format, seed % 2 === 0);
  });
});

test.each(['gif', 'webp', 'png'] as const)(
  'a small animation in %s is kept with its frames',
  async (format) => {
    const file = (await bench.convert(await animation('gif'), { format })).bytes;
    const { bytes, frames } = await bench.convert(file, { format: 'auto' });
    expect(frames).toBe(3);
    expect(bytes.length).toBeLessThanOrEqual(file.length);
  },
);

test('a picture on its side is turned instead of kept', async () => {
  const file = await sharp(await SMALL.jpeg())
    .withMetadata({ orientation: 6 })
    .jpeg({ quality: 20 })
    .toBuffer();
  const { original, width, height } = await bench.convert(file, { format: 'auto' });
  expect({ kept: original.kept, width, height }).toEqual({ kept: false, width: 240, height: 320 });
});

test('EXIF stays in a file that is kept only on request', async () => {
  const file = await sharp(await SMALL.jpeg())
    .withExif({ IFD0: { Artist: 'somebody' } })
    .jpeg({ quality: 20, mozjpeg: true })
    .toBuffer();
  const has = async (stripExif: boolean) => {
    const { bytes, original } = await bench.convert(file, { format: 'auto', stripExif });
    expect(original.kept).toBe(true);
    return bytes.includes('somebody');
  };
  expect([await has(true), await has(false)]).toEqual([false, true]);
});

test('a photo in another format is made as small as it came, or the answer says that it is larger', async () => {
  const file = await sharp(await photo(1200, 900))
    .jpeg({ quality: 35, mozjpeg: true })
    .toBuffer();
  const { size, original, warnings } = await bench.convert(file);
  expect(original).toMatchObject({ format: 'jpeg', kept: false });
  expect(size <= file.length || warnings.some(({ code }) => code === 'larger')).toBe(true);
  const asked = await bench.convert(file, { quality: 95 });
  expect(asked.original.quality).toBe(95);
  expect(asked.warnings.map(({ code }) => code)).toEqual(['larger']);
});

test('the first frame of an animation is not turned, as the animation is not', async () => {
  const wide = await sharp(await animation('webp'), { animated: true })
    .resize(60, 30, { fit: 'fill' })
    .withMetadata({ orientation: 6 })
    .webp()
    .toBuffer();
  const still = await bench.convert(wide, { format: 'jpeg' });
  const moving = await bench.convert(wide, { format: 'gif' });
  expect([still, moving].map(({ width, height }) => [width, height])).toEqual([
    [60, 30],
    [60, 30],
  ]);
});
