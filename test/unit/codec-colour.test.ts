import { expect, test } from 'bun:test';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { FORMATS } from '../../src/codec/format.ts';
import { startCodec } from '../support/codec/codec.ts';
import { type ApngPart, apng } from '../support/images/apng-files.ts';
import {
  adobeProfile,
  deltaE,
  linearGrey,
  stripeColours,
  stripes,
  withChunk,
  withCicp,
} from '../support/images/colours.ts';
import { withCaption, withSegment } from '../support/images/jpeg-files.ts';
import { NUMBERS, P3 } from '../support/images/samples.ts';
import { shared } from '../support/shared.ts';

const bench = shared(() => startCodec({ sandbox: 'require' }));

const png = await stripes(NUMBERS);
const asP3 = (file: Buffer) => withCicp(file, 12, 13);

test('the codes of a PNG go before its profile, and give way to one that is kept', async () => {
  const profile = Buffer.concat([Buffer.from('Adobe\0\0'), deflateSync(adobeProfile())]);
  const profiled = withChunk(png, 'iCCP', profile);
  for (const [file, stripExif, wanted] of [
    [asP3(profiled), true, P3[0]],
    [asP3(png), false, P3[0]],
    [withCicp(profiled, 1, 13), true, NUMBERS[0]],
  ] as const) {
    const { bytes } = await bench.convert(file, { format: 'png', stripExif });
    const [orange = [0, 0, 0]] = await stripeColours(bytes, 4);
    expect(deltaE(orange, wanted ?? [0, 0, 0])).toBeLessThan(2);
  }
  const parts = [64, 65].map((blue) => ({ colour: [32, 192, blue, 255] as ApngPart['colour'] }));
  const moving = withCicp(withChunk(await apng(parts), 'iCCP', profile), 1, 13);
  const { bytes } = await bench.convert(moving, { format: 'png' });
  expect([...(await sharp(bytes).raw().toBuffer()).subarray(0, 3)]).toEqual([32, 192, 64]);
});

test('a picture whose profile lacks its end is stored, whatever is kept', async () => {
  for (const kept of [-1, 1]) {
    const cut = Buffer.concat([
      Buffer.from('ICC_PROFILE\0\x01\x01', 'latin1'),
      adobeProfile().subarray(0, kept),
    ]);
    const file = withSegment(await sharp(png).jpeg().toBuffer(), 0xe2, cut);
    for (const format of FORMATS) await bench.convert(file, { format, stripExif: false });
  }
});

test('grey with a profile of its own looks the same, whatever metadata are kept', async () => {
  const dark = sharp({ create: { width: 8, height: 8, channels: 3, background: '#808080' } });
  const grey = dark.toColourspace('b-w');
  const inPng = Buffer.concat([Buffer.from('grey\0\0'), deflateSync(linearGrey())]);
  const inJpeg = Buffer.concat([Buffer.from('ICC_PROFILE\0\x01\x01', 'latin1'), linearGrey()]);
  const jpeg = withSegment(await grey.clone().jpeg().toBuffer(), 0xe2, inJpeg);
  const deep = await dark.clone().toColourspace('grey16').png().toBuffer();
  const pngs = [await grey.png().toBuffer(), deep].map((file) => withChunk(file, 'iCCP', inPng));
  const files = [jpeg, withCaption(jpeg, 'Harbour'), ...pngs];
  const previews = new Set<string | undefined>();
  for (const [index, file] of files.entries()) {
    for (const stripExif of [true, false]) {
      const { bytes, look } = await bench.convert(file, { format: 'jpeg', stripExif, look: true });
      previews.add(look?.thumbhash);
      // Half of the light.
      expect(Math.abs(((await sharp(bytes).raw().toBuffer())[0] ?? 0) - 188)).toBeLessThan(3);
      expect((await sharp(bytes).metadata()).iptc !== undefined).toBe(index === 1 && !stripExif);
    }
  }
  expect(previews.size).toBe(1);
});

test('a large PNG in linear light takes little more memory than its pixels', async () => {
  const grey = sharp({ create: { width: 5000, height: 5000, channels: 3, background: '#808080' } });
  const deep = withChunk(
    await grey.toColourspace('rgb16').png().toBuffer(),
    'gAMA',
    Buffer.from([0, 1, 0x86, 0xa0]),
  );
  // 200 MiB are pixels.
  const { convert, stop } = await startCodec({ workers: 1, memoryLimitBytes: 700 * 2 ** 20 });
  expect((await convert(deep, { maxWidth: 64 }).finally(stop)).width).toBe(64);
});

test.each([8, 10])(
  'grey AVIF of %d bits in the limited range keeps its black, white and greys, even if only its data say so',
  async (bits) => {
    // A ramp of 64 columns from 0 to 252, by libavif.
    const file = Buffer.from(
      await Bun.file(`test/fixtures/grey-narrow${bits === 8 ? '' : '-10'}.avif`).arrayBuffer(),
    );
    const untold = Buffer.from(file);
    untold.write('free', file.indexOf('colr'));
    for (const one of [file, untold]) {
      const { bytes } = await bench.convert(one, { format: 'png' });
      const picture = sharp(bytes).toColourspace('srgb').raw();
      const { data, info } = await picture.toBuffer({ resolveWithObject: true });
      for (const column of [0, 16, 32, 48, 63])
        expect(Math.abs((data[column * info.channels] ?? 0) - column * 4)).toBeLessThan(3);
    }
  },
);

test('AVIF whose colours are multiplied by its mask keeps them at soft edges', async () => {
  const size = { width: 64, height: 64 };
  const half = sharp({ create: { ...size, channels: 4, background: { r: 100, g: 60, b: 20, alpha: 0.5 } } });
  // The reference of EXIF to its picture becomes that of the picture to its mask, which is as long.
  const file = await half
    .withExif({ IFD0: { Artist: 'Somebody' } })
    .avif({ quality: 100, chromaSubsampling: '4:4:4' })
    .toBuffer();
  const masks = file.indexOf('auxl') + 4;
  const [mask, main] = [file.subarray(masks, masks + 2), file.subarray(masks + 4, masks + 6)];
  const count = Buffer.from([0, 1]);
  file.set(Buffer.concat([Buffer.from('prem'), main, count, mask]), file.indexOf('cdsc'));
  for (const format of ['png', 'auto'] as const) {
    const { bytes, original } = await bench.convert(file, { format });
    const pixel = (await sharp(bytes).raw().toBuffer()).subarray(0, 4);
    for (const [channel, wanted] of [200, 120, 40, 128].entries())
      expect(Math.abs((pixel[channel] ?? 0) - wanted)).toBeLessThan(6);
    expect(original.kept).toBe(false);
  }
});

test('a mask of AVIF is turned with its picture, even if only the picture says so', async () => {
  const size = { width: 32, height: 64, channels: 4 } as const;
  const opaque = { input: { create: { ...size, background: 'red' } }, left: 0, top: 0 };
  const clear = { r: 0, g: 0, b: 0, alpha: 0 };
  const left = sharp({ create: { ...size, width: 64, background: clear } }).composite([opaque]);
  const file = await sharp(await left.png().toBuffer())
    .withExif({ IFD0: { Artist: 'Somebody' } })
    .avif()
    .toBuffer();
  // The depths of the picture become a turn to the left, which may be as long, and then those of the mask.
  for (let depths = file.indexOf('pixi'); depths > 0; depths = file.indexOf('pixi')) {
    file.write('irot\x01', depths, 'latin1');
    const { bytes } = await bench.convert(file, { format: 'png', stripExif: false });
    const shown = await sharp(bytes).extractChannel(3).resize(2, 2, { kernel: 'nearest' }).raw().toBuffer();
    expect([...shown]).toEqual([0, 0, 255, 255]);
    expect((await sharp(bytes).metadata()).exif?.includes('Somebody')).toBe(true);
  }
});
