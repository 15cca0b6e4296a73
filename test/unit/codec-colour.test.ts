import { expect, test } from 'bun:test';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { startCodec } from '../support/codec/codec.ts';
import {
  adobeProfile,
  type Colour,
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
  for (const [file, stripExif] of [
    [withChunk(png, 'iCCP', profile), true],
    [png, false],
  ] as const) {
    const { bytes } = await bench.convert(asP3(file), { format: 'png', stripExif });
    const [orange = [0, 0, 0]] = await stripeColours(bytes, 4);
    expect(deltaE(orange, P3[0] ?? [0, 0, 0])).toBeLessThan(2);
  }
});

test('a PNG has the gamma that it names, unless it has a profile or that is about what sRGB has', async () => {
  const named = (gamma: number) => {
    const data = Buffer.alloc(4);
    data.writeUInt32BE(gamma);
    return withChunk(png, 'gAMA', data);
  };
  const linear = NUMBERS.map((colour) => colour.map(codeOf)) as unknown as Colour[];
  const srgb = Buffer.from([0]);
  for (const [file, wanted] of [
    [named(100_000), linear],
    [named(45_455), NUMBERS],
    [named(0), NUMBERS],
    [withChunk(named(100_000), 'sRGB', srgb), NUMBERS],
  ] as const)
    for (const format of ['png', 'webp'] as const) {
      const { bytes } = await bench.convert(file, { format });
      const colours = await stripeColours(bytes, NUMBERS.length);
      for (const [index, colour] of colours.entries())
        expect(deltaE(colour, wanted[index] ?? [0, 0, 0])).toBeLessThan(4);
    }
});

/** The number of sRGB for light. */
function codeOf(number: number): number {
  const light = number / 255;
  return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055);
}

test('16 bits a channel are converted by their profile, as 8 bits are', async () => {
  const deep = await sharp(png).toColourspace('rgb16').png().toBuffer();
  const profile = Buffer.concat([Buffer.from('Adobe\0\0'), deflateSync(adobeProfile())]);
  const [shallow, ...others] = await Promise.all(
    [png, deep].flatMap((file) =>
      (['png', 'gif'] as const).map(async (format) => {
        const stripExif = format === 'png';
        const { bytes } = await bench.convert(withChunk(file, 'iCCP', profile), { format, stripExif });
        return stripeColours(bytes, NUMBERS.length);
      }),
    ),
  );
  for (const colours of others)
    for (const [index, colour] of colours.entries())
      expect(deltaE(colour, shallow?.[index] ?? [0, 0, 0])).toBeLessThan(2);
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
  for (const [index, file] of files.entries()) {
    for (const stripExif of [true, false]) {
      const { bytes } = await bench.convert(file, { format: 'jpeg', stripExif });
      // Half of the light.
      expect(Math.abs(((await sharp(bytes).raw().toBuffer())[0] ?? 0) - 188)).toBeLessThan(3);
      expect((await sharp(bytes).metadata()).iptc !== undefined).toBe(index === 1 && !stripExif);
    }
  }
});

test.each([8, 10])(
  'grey AVIF of %d bits in the limited range keeps its black, white and greys',
  async (bits) => {
    // A ramp of 64 columns from 0 to 252, by libavif.
    const file = Buffer.from(
      await Bun.file(`test/fixtures/grey-narrow${bits === 8 ? '' : '-10'}.avif`).arrayBuffer(),
    );
    const { bytes } = await bench.convert(file, { format: 'png' });
    const { data, info } = await sharp(bytes)
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true });
    for (const column of [0, 16, 32, 48, 63]) {
      expect(Math.abs((data[column * info.channels] ?? 0) - column * 4)).toBeLessThan(3);
    }
  },
);
