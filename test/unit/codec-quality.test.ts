import { expect, test } from 'bun:test';
import sharp from 'sharp';
import { differenceOf } from '../../src/codec/convert/likeness.ts';
import type { Pixels } from '../../src/codec/convert/look.ts';
import { ENCODERS, type Lossy, lowered, qualityFor, sampleOf } from '../../src/codec/convert/quality.ts';
import { startCodec } from '../support/codec/codec.ts';
import { photo } from '../support/images/images.ts';

/** Returns a generated photo as it is, or blurred. */
async function pixelsOf(blur = 0): Promise<Pixels> {
  const [width, height] = [1200, 900];
  const opened = sharp(await photo(width, height)).removeAlpha();
  const { data } = await (blur > 0 ? opened.blur(blur) : opened).raw().toBuffer({ resolveWithObject: true });
  return { data, width, height, channels: 3 };
}

const encoded = async (sample: Pixels, quality: number) =>
  sharp(await sharp(sample.data, { raw: sample }).jpeg({ quality }).toBuffer())
    .raw()
    .toBuffer();

test('a sample has tiles from all over the picture, and small pictures have none', async () => {
  const [width, height] = [1600, 1000];
  const data = Uint8Array.from({ length: width * height * 3 }, (_, at) => {
    const pixel = Math.floor(at / 3);
    return at % 3 === 0 ? ((pixel % width) * 255) / width : ((pixel / width) * 255) / height;
  });
  const sample = sampleOf({ data, width, height, channels: 3 }, 'webp');
  const means = [0, 1].map((channel) => {
    const values = Array.from(sample?.data ?? []).filter((_, at) => at % 3 === channel);
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  });
  expect(sample).toMatchObject({ height: 64, channels: 3 });
  for (const mean of means) expect(Math.abs(mean - 127)).toBeLessThan(8);
  expect(sampleOf({ data, width, height: 600, channels: 3 }, 'webp')).toBeNull();
});

test('a strip has as many tiles across as down, and about as many as other pictures at most', () => {
  for (const [format, { tiles }] of Object.entries(ENCODERS))
    for (const [long, short] of [
      [16_383, 64],
      [65_535, 64],
      [20_000, 1000],
      [4000, 3000],
    ] as const) {
      const [wide, tall] = [
        [long, short],
        [short, long],
      ].map(([width = 0, height = 0]) => {
        const data = new Uint8Array(width * height * 3);
        return (sampleOf({ data, width, height, channels: 3 }, format as Lossy)?.width ?? 0) / 64;
      });
      expect(wide).toBeLessThanOrEqual(1.34 * tiles[1]);
      expect(wide).toBeLessThanOrEqual(1.34 * (tall ?? 0));
    }
});

test('a picture differs the more the less quality it has, and not at all from itself', async () => {
  const sample = sampleOf(await pixelsOf(), 'jpeg');
  if (!sample) throw new Error('There is no sample.');
  const differences = await Promise.all(
    [40, 60, 80, 95].map(async (quality) => differenceOf(sample, await encoded(sample, quality))),
  );
  expect(differences).toEqual(differences.toSorted((one, other) => other - one));
  expect(differenceOf(sample, sample.data)).toBeCloseTo(0);
  // Blue alone is changed, which brightness hardly shows.
  const bluer = sample.data.map((value, at) =>
    at % 3 === 2 && at % 384 < 192 ? Math.min(255, value + 40) : value,
  );
  expect(differenceOf(sample, bluer)).toBeGreaterThan(1);
});

test('quality follows from the picture within the bounds of the format', async () => {
  const asked: number[] = [];
  const quality = async (difference: number) => {
    const made = qualityFor(await pixelsOf(2), 'jpeg', async (sample, at) => {
      asked.push(at);
      return sample.data.map((value, place) => (place % 7 === 0 ? Math.min(255, value + difference) : value));
    });
    return made;
  };
  const { bounds, sample: first } = ENCODERS.jpeg;
  const [least, most] = bounds;
  const [same, slight, strong] = [await quality(0), await quality(15), await quality(120)];
  expect([same, strong]).toEqual([least, most]);
  expect(slight).toBeGreaterThan(least);
  expect(slight).toBeLessThan(most);
  // From a sample at the usual quality, and from one at what that leads to, unless it is nearly the same.
  expect(asked).toEqual([first, least, first, first, most]);
  expect(await qualityFor(null, 'webp', () => Promise.reject(new Error('asked')))).toBe(ENCODERS.webp.usual);
});

test('a sample of AVIF is looked at twice, and that of a small picture at the quality that makes up for less effort', async () => {
  const asked: number[] = [];
  for (const height of [600, 2400]) {
    const picture = { data: new Uint8Array(1800 * height * 3), width: 1800, height, channels: 3 } as const;
    await qualityFor(picture, 'avif', async (sample, quality) => {
      asked.push(quality);
      return sample.data;
    });
  }
  const { sample, bounds } = ENCODERS.avif;
  expect(asked).toEqual([sample + 1, bounds[0] + 1, sample, bounds[0]]);
});

test('quality is lowered as far as the bytes must, by half at once, never raised, and to 1 only where the format stays', () => {
  expect([0.9, 0.5, 0.01].map((share) => lowered(80, share, 'webp', false))).toEqual([76, 50, 40]);
  expect([lowered(40, 0.01, 'webp', false), lowered(3, 0.01, 'jpeg', true)]).toEqual([30, 1]);
  expect(lowered(20, 0.5, 'avif', false)).toBe(20);
});

test('a drawing in AVIF is sharper than with the usual tuning of the encoder, for few bytes more, and takes a viewer no longer', async () => {
  const lines = Array.from(
    { length: 20 },
    (_, line) =>
      `<text x="${10 + line * 3}" y="${20 + line * 23}" font-size="${12 + (line % 5)}" fill="hsl(${line * 18},80%,40%)">How sharp are letters in line ${line}?</text>`,
  );
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480"><rect width="640" height="480" fill="#fff"/>${lines.join('')}</svg>`;
  const drawing = await sharp(Buffer.from(svg)).removeAlpha().png().toBuffer();
  const before = await sharp(drawing).raw().toBuffer();
  const errorOf = async (made: Buffer) => {
    const after = await sharp(made).raw().toBuffer();
    return before.reduce((sum, value, at) => sum + (value - (after[at] ?? 0)) ** 2, 0);
  };
  const bench = await startCodec();
  const { bytes } = await bench.convert(drawing, { format: 'avif' });
  const version = await bench.convert(drawing, { format: 'avif', smallest: true });
  await bench.stop();
  const quality = ENCODERS.avif.drawing;
  const usual = await sharp(drawing).avif({ quality, effort: 3 }).toBuffer();
  expect((await errorOf(bytes)) / (await errorOf(usual))).toBeLessThan(0.8);
  expect(bytes.length / usual.length).toBeLessThan(1.1);
  const thorough = sharp(drawing).avif({ quality: quality + 2, effort: 4, tune: 'ssim' });
  expect(bytes.equals(await thorough.toBuffer())).toBe(true);
  const quick = sharp(drawing).avif({ quality, effort: 3, tune: 'ssim' });
  expect(version.bytes.equals(await quick.toBuffer())).toBe(true);
});
