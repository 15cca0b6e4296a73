import { describe, expect, test } from 'bun:test';
import sharp from 'sharp';
import { thumbHashToApproximateAspectRatio, thumbHashToAverageRGBA } from 'thumbhash';
import { lookOf } from '../../src/codec/convert/look.ts';
import { createLookIndex, createTable } from '../../src/image/records/look-index.ts';
import { ALIKE_BITS, countBits, distanceBetween } from '../../src/lib/bits.ts';
import { type CodecBench, startCodec } from '../support/codec/codec.ts';
import { animation, photo, privatePhoto, quarters } from '../support/images/images.ts';
import { createRandom } from '../support/random.ts';
import { shared } from '../support/shared.ts';

describe('bits', () => {
  test('are counted and compared', () => {
    for (const [number, bits] of [
      [0, 0],
      [1, 1],
      [0x80000000, 1],
      [0xffffffff, 32],
      [-1, 32],
      [0x0f0f0f0f, 16],
    ] as const) {
      expect([number, countBits(number)]).toEqual([number, bits]);
    }
    expect(distanceBetween('0000000000000000', 'ffffffffffffffff')).toBe(64);
    expect(distanceBetween('8000000000000001', '0000000000000000')).toBe(2);
    expect(distanceBetween('0123456789abcdef', '0123456789abcdef')).toBe(0);
  });

  test('near ones are found among many, the nearest first', () => {
    const random = createRandom(5);
    const hex = () => Array.from({ length: 16 }, () => Math.floor(random() * 16).toString(16)).join('');
    const table = createTable();
    const all = Array.from({ length: 5000 }, (_, n) => ({ id: String(n).padStart(12, '0'), phash: hex() }));
    for (const { id, phash } of all) table.add(id, phash);
    const sought = hex();
    const expected = all
      .map(({ id, phash }) => ({ id, distance: distanceBetween(phash, sought) }))
      .filter(({ distance }) => distance <= 20)
      .sort((one, other) => one.distance - other.distance);
    expect(expected.length).toBeGreaterThan(3);
    expect(table.near(sought, 20, 100)).toEqual(expected);
    expect(table.near(sought, 20, 2)).toHaveLength(2);
  });
});

test('what looks alike is counted without its records, of which there may be thousands', async () => {
  const looks = async function* () {
    yield [...['aaaaaaaaaaaa', 'bbbbbbbbbbbb'].map((id): [string, string] => [id, '0123456789abcdef'])];
    yield [['cccccccccccc', 'fedcba9876543210'] as [string, string]];
  };
  const get = () => Promise.reject(new Error('a record was read'));
  expect(await createLookIndex({ looks, get }, () => 0).count('0123456789abcdee')).toBe(2);
});

describe('looks', () => {
  const bench = shared(() => startCodec());

  const look = async (bytes: Uint8Array, job: Parameters<CodecBench['convert']>[1] = {}) =>
    (await bench.convert(bytes, { look: true, ...job })).look;

  test('are told where they are asked for', async () => {
    const bytes = await photo(300, 200);
    expect((await bench.convert(bytes)).look).toBeNull();
    expect(await look(bytes)).toEqual({
      thumbhash: expect.stringMatching(/^[\w+/]+=*$/),
      phash: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });

  test('are the same for one picture in any format, turned by EXIF, whatever is stored', async () => {
    const sources = await Promise.all(
      (['jpeg', 'png', 'webp', 'tiff'] as const).map((format) => privatePhoto(format, 1, [300, 200])),
    );
    sources.push(await privatePhoto('jpeg', 6, [300, 200]));
    const [first, ...others] = await Promise.all([
      ...sources.map((bytes) => look(bytes)),
      look(sources[1] ?? Buffer.alloc(0), { format: 'png' }),
      look(sources[1] ?? Buffer.alloc(0), { format: 'jpeg', stripExif: false }),
      look(sources[1] ?? Buffer.alloc(0), { maxWidth: 120 }),
    ]);
    for (const other of others) {
      expect(distanceBetween(first?.phash ?? '', other?.phash ?? '')).toBeLessThanOrEqual(ALIKE_BITS);
    }
    const hash = Buffer.from(first?.thumbhash ?? '', 'base64');
    expect(thumbHashToApproximateAspectRatio(hash)).toBeCloseTo(1.5, 0);
  });

  test('of a transparent picture say so, and of one without features nothing', async () => {
    const clear = await sharp({
      create: { width: 80, height: 40, channels: 4, background: { r: 255, g: 0, b: 0, alpha: 0.5 } },
    })
      .png()
      .toBuffer();
    const found = await look(clear);
    expect(found?.phash).toBeNull();
    const { r, g, a } = thumbHashToAverageRGBA(Buffer.from(found?.thumbhash ?? '', 'base64'));
    expect([Math.round(r), Math.round(g), Math.round(a * 2)]).toEqual([1, 0, 1]);
  });

  test('of an animation are those of its first frame', async () => {
    const frames = await animation('gif');
    const still = await sharp(frames).png().toBuffer();
    const [moving, first] = [await look(frames), await look(still)];
    expect(distanceBetween(moving?.phash ?? '', first?.phash ?? '')).toBeLessThanOrEqual(4);
  });

  test('do not change a stored byte', async () => {
    const sources = [
      await quarters(500, 300).png().toBuffer(),
      await quarters(500, 300).png({ palette: true }).toBuffer(),
      await quarters(500, 300).greyscale().png().toBuffer(),
      await quarters(500, 300).ensureAlpha(0.5).png().toBuffer(),
      await quarters(500, 300).toColourspace('rgb16').png().toBuffer(),
      await privatePhoto('webp', 1, [300, 200]),
      await photo(500, 300),
    ];
    for (const bytes of sources) {
      for (const format of ['webp', 'png', 'jpeg', 'avif'] as const) {
        const [plain, looked] = [
          await bench.convert(bytes, { format, maxWidth: 400 }),
          await bench.convert(bytes, { format, maxWidth: 400, look: true }),
        ];
        expect([sources.indexOf(bytes), format, looked.hash]).toEqual([
          sources.indexOf(bytes),
          format,
          plain.hash,
        ]);
      }
    }
  });

  test('of pixels in all numbers of channels are those of the picture', async () => {
    const picture = quarters(90, 60).greyscale();
    const looks = await Promise.all(
      [picture.clone(), picture.clone().ensureAlpha(), picture.clone().toColourspace('srgb')].map(
        async (one) => {
          const { data, info } = await one.raw().toBuffer({ resolveWithObject: true });
          return lookOf({ data, ...info });
        },
      ),
    );
    expect(new Set(looks.map(({ phash }) => phash)).size).toBe(1);
  });
});
