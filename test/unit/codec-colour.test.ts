import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { type CodecBench, startCodec } from '../support/codec/codec.ts';
import {
  adobeProfile,
  type Colour,
  deltaE,
  stripeColours,
  stripes,
  withChunk,
  withCicp,
  withNclx,
} from '../support/images/colours.ts';

let bench: CodecBench;
beforeAll(async () => {
  bench = await startCodec({ sandbox: 'require' });
});
afterAll(() => bench.stop());

const NUMBERS: Colour[] = [
  [200, 100, 50],
  [40, 180, 90],
  [30, 60, 200],
  [128, 128, 128],
];
/** What those numbers are in sRGB, by numpy in double precision. */
const IN_SRGB: Record<string, Colour[]> = {
  P3: [
    [215, 93, 31],
    [0, 183, 78],
    [17, 61, 208],
    [128, 128, 128],
  ],
  'Rec. 2020': [
    [241, 76, 29],
    [0, 190, 74],
    [0, 60, 210],
    [128, 128, 128],
  ],
  'Adobe RGB': [
    [227, 100, 42],
    [0, 181, 83],
    [0, 57, 205],
    [129, 129, 129],
  ],
  sRGB: NUMBERS,
};
const CODES = { P3: 12, 'Rec. 2020': 9, sRGB: 1 } as const;
const [SRGB_CURVE, PQ, HLG] = [13, 16, 18];

const png = await stripes(NUMBERS);
/** The numbers themselves: without a loss, and not turned into another kind. */
const avif = await sharp(png).avif({ lossless: true }).toBuffer();

async function expectColours(file: Buffer, expected: Colour[] = []): Promise<void> {
  const { bytes } = await bench.convert(file, { format: 'png' });
  expect((await sharp(bytes).metadata()).icc).toBeUndefined();
  const seen = await stripeColours(bytes, expected.length);
  const differences = seen.map((colour, stripe) => deltaE(colour, expected[stripe] ?? [0, 0, 0]));
  expect(Math.max(...differences)).toBeLessThan(2);
}

describe('colours come out as sRGB', () => {
  for (const [name, primaries] of Object.entries(CODES)) {
    test(`of an AVIF whose codes say ${name}`, async () => {
      await expectColours(withNclx(avif, primaries, SRGB_CURVE), IN_SRGB[name]);
    });

    test(`of a PNG whose codes say ${name}`, async () => {
      await expectColours(withCicp(png, primaries, SRGB_CURVE), IN_SRGB[name]);
    });
  }

  test('of a PNG whose profile is Adobe RGB', async () => {
    const profile = Buffer.concat([Buffer.from('Adobe\0\0'), deflateSync(adobeProfile())]);
    await expectColours(withChunk(png, 'iCCP', profile), IN_SRGB['Adobe RGB']);
  });

  test('of a PNG by its codes where it has a profile as well', async () => {
    const profile = Buffer.concat([Buffer.from('Adobe\0\0'), deflateSync(adobeProfile())]);
    await expectColours(withCicp(withChunk(png, 'iCCP', profile), 12, SRGB_CURVE), IN_SRGB.P3);
  });

  test('and codes give way to a profile that is kept', async () => {
    const { bytes } = await bench.convert(withCicp(png, 12, SRGB_CURVE), { format: 'png', stripExif: false });
    const [orange = [0, 0, 0]] = await stripeColours(bytes, 4);
    expect(deltaE(orange, [215, 93, 31])).toBeLessThan(2);
  });
});

describe('light beyond white', () => {
  /** Numbers for black, for white (203 cd/m²), and for the brightest (1,000 cd/m²). */
  const LEVELS = { PQ: [0, 148, 192], HLG: [0, 191, 255] };

  test.each([
    ['PQ', PQ],
    ['HLG', HLG],
  ] as const)('of %s is brought into what a screen shows, white below it', async (name, transfer) => {
    const greys = LEVELS[name].map((value): Colour => [value, value, value]);
    const file = withCicp(await stripes(greys), 9, transfer);
    const [black = [], white = [], brightest = []] = await stripeColours(
      (await bench.convert(file, { format: 'png' })).bytes,
      3,
    );
    for (const grey of [black, white, brightest])
      expect(Math.max(...grey) - Math.min(...grey)).toBeLessThan(2);
    expect(black[0]).toBe(0);
    expect(white[0]).toBeGreaterThan(180);
    expect(white[0]).toBeLessThan(200);
    expect(brightest[0]).toBeGreaterThan(250);
  });
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
