import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { startCodec } from '../support/codec/codec.ts';
import { shared } from '../support/shared.ts';

/**
 * Four colours, one a quarter: red, green, blue, white. Made by libheif's encoder for HEVC from an sRGB picture; the first with
 * the profile Display P3, the second with a turn by 90° (`irot`) and EXIF that names a place.
 */
const displayP3 = await readFile('test/fixtures/display-p3.heic');
const turned = await readFile('test/fixtures/turned.heic');
/** Half transparent; its colours are multiplied by its mask (`prem`). */
const premultiplied = await readFile('test/fixtures/premultiplied.heic');

const bench = shared(() => startCodec({ sandbox: 'require' }));
const without = shared(() => startCodec({ heic: false }));

test('a HEIC picture keeps profile and EXIF where they were asked for, and is not turned twice', async () => {
  const { bytes } = await bench.convert(turned, { format: 'jpeg', stripExif: false });
  const { exif, icc, orientation, width, height } = await sharp(bytes).metadata();
  expect(exif?.includes('Phone')).toBe(true);
  expect(icc?.length).toBeGreaterThan(0);
  expect([orientation ?? 1, width, height]).toEqual([1, 48, 64]);
});

test('colours of HEIC that are multiplied by a mask are divided by it', async () => {
  const { bytes } = await bench.convert(premultiplied, { format: 'png' });
  const pixel = (await sharp(bytes).raw().toBuffer()).subarray(0, 4);
  for (const [channel, wanted] of [200, 120, 40, 128].entries())
    expect(Math.abs((pixel[channel] ?? 0) - wanted)).toBeLessThan(6);
});

test('a HEIC picture that is damaged is refused, and costs no worker', async () => {
  await bench.convert(displayP3);
  const { crashes, started } = bench.codec.stats();
  // The length of the first piece of the stream, of which libheif complains on standard output.
  const damaged = Buffer.from(displayP3);
  damaged[damaged.indexOf('mdat') + 6] = 0xff;
  await expect(bench.convert(damaged)).rejects.toMatchObject({ code: 'undecodable_image' });
  expect((await bench.convert(displayP3)).width).toBe(64);
  expect(bench.codec.stats()).toMatchObject({ crashes, started });
});

test('where HEIC is switched off, a picture is refused by the name of its format', async () => {
  await expect(without.convert(displayP3)).rejects.toMatchObject({
    code: 'not_an_image',
    message: expect.stringContaining('HEIC'),
  });
});
