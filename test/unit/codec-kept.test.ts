import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import sharp from 'sharp';
import { writeChunk } from '../../src/codec/decoders/png-chunks.ts';
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
  png: async () =>
    sharp(await photo(480, 360))
      .png({ compressionLevel: 9, adaptiveFiltering: true })
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

test('a small animation in GIF is kept with its frames', async () => {
  const file = (await bench.convert(await animation('gif'), { format: 'gif' })).bytes;
  const { bytes, frames, original } = await bench.convert(file, { format: 'auto' });
  expect([frames, original.kept, bytes.length <= file.length]).toEqual([3, true, true]);
});

test('a PNG that viewers may animate is never kept', async () => {
  const { bytes } = await bench.convert(await animation('gif'), { format: 'png' });
  expect(bareFile(bytes, 'png', false)).toBeNull();
  const still = await SMALL.png();
  expect(bareFile(still, 'png', false)).not.toBeNull();
  const announced = Buffer.concat([
    still.subarray(0, 33),
    ...writeChunk('acTL', Buffer.alloc(8)),
    still.subarray(33),
  ]);
  expect(bareFile(announced, 'png', false)).toBeNull();
});

test('a GIF with a frame that leaves the screen is not kept', async () => {
  const file = await SMALL.gif();
  const narrow = Buffer.from(file);
  narrow.writeUInt16LE(100, 6);
  expect([bareFile(file, 'gif', false) !== null, bareFile(narrow, 'gif', false)]).toEqual([true, null]);
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
