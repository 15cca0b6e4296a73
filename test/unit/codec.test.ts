import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { FORMATS } from '../../src/codec/format.ts';
import { startCodec } from '../support/codec/codec.ts';
import {
  animation,
  greyscale,
  photo,
  privatePhoto,
  QUARTERS,
  quarterColours,
  quarters,
  SECRET,
  transparent,
  unusual,
} from '../support/images/images.ts';
import { withSegment } from '../support/images/jpeg-files.ts';
import { shared } from '../support/shared.ts';

const bench = shared(() => startCodec());

/** The largest difference of a channel that the colours may have. */
async function expectQuarters(bytes: Buffer, tolerance: number): Promise<void> {
  const colours = await quarterColours(bytes);
  const differences = colours.flatMap((colour, quarter) =>
    colour.map((value, channel) => Math.abs(value - (QUARTERS[quarter]?.[channel] ?? Number.NaN))),
  );
  expect(Math.max(...differences)).toBeLessThanOrEqual(tolerance);
}

function expectNoTraces(bytes: Buffer): void {
  for (const trace of [SECRET, 'Exif\0', 'http://ns.adobe.com', 'xmpmeta', 'ICC_PROFILE', 'iCCP']) {
    expect(bytes.includes(trace)).toBe(false);
  }
}

describe('orientation and metadata', () => {
  for (const format of FORMATS) {
    for (let orientation = 1; orientation <= 8; orientation++) {
      test(`a photo of orientation ${orientation} becomes an upright ${format} without private data`, async () => {
        const result = await bench.convert(await privatePhoto('jpeg', orientation), { format });
        expect(result).toMatchObject({ format, width: 96, height: 64, frames: 1 });
        const metadata = await sharp(result.bytes).metadata();
        expect(metadata.orientation).toBeUndefined();
        expect([metadata.exif, metadata.xmp, metadata.iptc, metadata.icc]).toEqual(Array(4).fill(undefined));
        expectNoTraces(result.bytes);
        await expectQuarters(result.bytes, 40);
      });
    }
  }

  for (const format of ['jpeg', 'webp', 'png', 'avif'] as const) {
    test(`with stripExif false ${format} keeps EXIF and the profile, and is upright`, async () => {
      const result = await bench.convert(await privatePhoto('jpeg', 6), { format, stripExif: false });
      const metadata = await sharp(result.bytes).metadata();
      expect(metadata.exif?.includes(SECRET)).toBe(true);
      expect(metadata.icc?.length).toBeGreaterThan(0);
      // An AVIF file is turned by its own boxes; sharp then reports no orientation.
      expect([metadata.orientation ?? 1, metadata.width, metadata.height]).toEqual([1, 96, 64]);
      await expectQuarters(result.bytes, 40);
    });
  }

  test('a stored file with coordinates in EXIF or XMP is said to have a place', async () => {
    const xmp = '<x:xmpmeta xmlns:x="adobe:ns:meta/" exif:GPSLatitude="51,30.0N"/>';
    const extended = Buffer.from(`http://ns.adobe.com/xmp/extension/\0${xmp}`);
    const first = Buffer.from('http://ns.adobe.com/xap/1.0/\0<x/>');
    const plain = await quarters().jpeg({ quality: 30 }).toBuffer();
    const twice = withSegment(withSegment(plain, 0xe1, extended), 0xe1, first);
    for (const file of [await privatePhoto('jpeg'), await quarters().withXmp(xmp).webp().toBuffer(), twice])
      expect((await bench.convert(file, { format: 'auto', stripExif: false })).exif?.place).toBe(true);
  });

  test('a CMYK profile is not kept on an RGB picture', async () => {
    const result = await bench.convert((await unusual['CMYK JPEG']?.()) ?? Buffer.alloc(0), {
      stripExif: false,
    });
    const metadata = await sharp(result.bytes).metadata();
    expect(metadata.space).toBe('srgb');
    expect(metadata.icc?.subarray(16, 20).toString('latin1')).not.toBe('CMYK');
  });
});

describe('formats', () => {
  for (const [name, make] of Object.entries(unusual)) {
    for (const format of FORMATS) {
      test(`${name} becomes ${format} in the right colours`, async () => {
        const result = await bench.convert(await make(), { format });
        expect(result).toMatchObject({ format, width: 96, height: 64, frames: 1 });
        // Inks cannot show the pure colours; what is checked is that nothing is inverted or swapped.
        await expectQuarters(result.bytes, name.startsWith('CMYK') ? 110 : 40);
      });
    }
  }

  test('a greyscale picture stays greyscale', async () => {
    for (const format of FORMATS) {
      const colours = await quarterColours((await bench.convert(await greyscale(), { format })).bytes);
      for (const [r = 0, g = 0, b = 0] of colours) {
        expect(Math.max(r, g, b) - Math.min(r, g, b)).toBeLessThanOrEqual(6);
      }
    }
  });

  test('a palette PNG keeps its exact colours and its palette', async () => {
    const input = await quarters().png({ palette: true }).toBuffer();
    const result = await bench.convert(input, { format: 'png' });
    expect((await sharp(result.bytes).metadata()).isPalette).toBe(true);
    expect(await sharp(result.bytes).raw().toBuffer()).toEqual(await sharp(input).raw().toBuffer());
  });

  test('the result has the size and hash of the file', async () => {
    const { bytes, size, hash } = await bench.convert(await photo(200, 150));
    expect(size).toBe(bytes.length);
    expect(hash).toBe(createHash('sha256').update(bytes).digest('hex'));
  });
});

describe('transparency', () => {
  for (const input of ['png', 'webp', 'gif', 'avif'] as const) {
    for (const format of FORMATS) {
      test(`a transparent ${input} becomes ${format === 'jpeg' ? 'a jpeg on white' : `a transparent ${format}`}`, async () => {
        const { bytes } = await bench.convert(await transparent(input), { format });
        const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
        const left = data.subarray((24 * info.width + 8) * info.channels).subarray(0, info.channels);
        const right = data.subarray((24 * info.width + 48) * info.channels).subarray(0, info.channels);
        if (format === 'jpeg') expect([...left].every((value) => value > 245)).toBe(true);
        else {
          // AVIF rounds its mask.
          expect(left[3]).toBeLessThanOrEqual(format === 'avif' ? 1 : 0);
          expect(right[3]).toBeGreaterThanOrEqual(format === 'avif' ? 254 : 255);
        }
        expect(right[0]).toBeGreaterThan(200);
        expect(right[1]).toBeLessThan(60);
      });
    }
  }
});

describe('animation', () => {
  test('EXIF does not rotate an animation, and is removed', async () => {
    const moving = await animation('webp');
    for (let orientation = 1; orientation <= 8; orientation++) {
      const laid = await sharp(moving, { animated: true }).withMetadata({ orientation }).webp().toBuffer();
      expect((await sharp(laid).metadata()).orientation).toBe(orientation);
      const result = await bench.convert(laid);
      expect(result).toMatchObject({ width: 48, height: 32, frames: 3 });
      const { orientation: left, exif, delay } = await sharp(result.bytes).metadata();
      expect([left, exif, delay]).toEqual([undefined, undefined, [100, 200, 300]]);
    }
  });

  test('an animation is scaled frame by frame', async () => {
    const result = await bench.convert(await animation('gif'), { maxWidth: 24 });
    expect(result).toMatchObject({ width: 24, height: 16, frames: 3 });
  });

  test.each([2, 8])(
    'what a GIF with %i bits a colour clears or never draws is transparent, as in browsers',
    async (bits) => {
      const [red, green, blue, clear] = [
        [255, 0, 0, 255],
        [0, 255, 0, 255],
        [0, 0, 255, 255],
        [0, 0, 0, 0],
      ];
      const last = 2 ** bits - 1;
      const colours = Buffer.alloc(3 * (last + 1));
      colours.set([255, 0, 0, 0, 0, 0, 0, 0, 255]);
      colours.set([0, 255, 0], 3 * last);
      const frame = (left: number, pixels: number[], control: number[]) => {
        const codes = [2 ** bits, ...pixels, 2 ** bits + 1].map((code) =>
          code.toString(2).padStart(bits + 1, '0'),
        );
        const hex = BigInt(`0b${codes.reverse().join('')}`).toString(16);
        const data = Buffer.from(hex.padStart(2 * Math.ceil(hex.length / 2), '0'), 'hex').reverse();
        const area = [0x2c, left, 0, 0, 0, pixels.length, 0, 1, 0, 0];
        return Buffer.from([...control, ...area, bits, data.length, ...data, 0]);
      };
      const seen = async (...frames: Buffer[]) => {
        const screen = [2, 0, 1, 0, 0x80 | (bits - 1), 0, 0];
        const file = Buffer.concat([
          Buffer.from('GIF89a'),
          Buffer.from([...screen, ...colours]),
          ...frames,
          Buffer.from(';'),
        ]);
        // Kept as it is, sharp would show it as wrongly as before.
        const made = await bench.convert(file, { format: 'png' });
        const { bytes } = await bench.convert(made.bytes, { format: 'gif' });
        const pixels = await sharp(bytes, { animated: true }).ensureAlpha().raw().toBuffer();
        return Array.from({ length: pixels.length / 4 }, (_, at) => [...pixels.subarray(4 * at, 4 * at + 4)]);
      };
      const lasting = (disposal: number) => [0x21, 0xf9, 4, disposal << 2, 9, 0, 0, 0];
      const [keeps, clears, takesBack] = [lasting(1), lasting(2), lasting(3)];
      const moving = await seen(frame(0, [0, 0], keeps), frame(0, [last], clears), frame(1, [2], keeps));
      expect(moving).toEqual([red, red, green, red, clear, blue]);
      expect(await seen(frame(0, [0, 0], takesBack), frame(1, [2], keeps))).toEqual([red, red, clear, blue]);
      expect(await seen(frame(1, [last], []))).toEqual([clear, green]);
      expect(await seen(frame(0, [last], keeps), frame(1, [2], keeps))).toEqual([green, clear, green, blue]);
    },
  );

  test('equal frames that the encoder merges are not counted', async () => {
    const frame = await quarters().png().toBuffer();
    const bytes = await sharp([frame, frame, frame], { join: { animated: true } })
      .gif({ keepDuplicateFrames: true })
      .toBuffer();
    expect((await sharp(bytes).metadata()).pages).toBe(3);
    const result = await bench.convert(bytes);
    expect(result.frames).toBe((await sharp(result.bytes).metadata()).pages ?? 1);
  });
});

describe('dimensions', () => {
  const cases: [string, [number, number], { maxWidth: number; maxHeight?: number }, [number, number]][] = [
    ['a wide one to the width', [300, 100], { maxWidth: 150, maxHeight: 150 }, [150, 50]],
    ['a high one to the height', [100, 300], { maxWidth: 150, maxHeight: 150 }, [50, 150]],
    ['a thumbnail by its width alone', [100, 300], { maxWidth: 50 }, [50, 150]],
    ['never up', [100, 60], { maxWidth: 4096, maxHeight: 4096 }, [100, 60]],
    ['a line to a line', [3000, 1], { maxWidth: 100, maxHeight: 100 }, [100, 1]],
  ];
  for (const [name, [width, height], box, expected] of cases) {
    test(`are fitted: ${name}`, async () => {
      const result = await bench.convert(await quarters(width, height).png().toBuffer(), box);
      expect([result.width, result.height]).toEqual(expected);
      const metadata = await sharp(result.bytes).metadata();
      expect([metadata.width, metadata.height]).toEqual(expected);
    });
  }

  test('a side that webp cannot hold is scaled down', async () => {
    const long = await quarters(20_000, 8).png().toBuffer();
    const result = await bench.convert(long, { format: 'webp', maxWidth: 30_000, maxHeight: 30_000 });
    expect([result.width, result.height]).toEqual([16_383, 7]);
  });
});

describe('damage', () => {
  test('a photo with stray bytes that every viewer ignores is accepted', async () => {
    const good = await privatePhoto('jpeg');
    const stray = Buffer.concat([good.subarray(0, -2), Buffer.from([0, 0, 0, 0]), good.subarray(-2)]);
    expect((await bench.convert(stray)).width).toBe(96);
  });

  test.each([
    ['grey', 'b-w', false],
    ['colours', 'srgb', false],
    ['several scans', 'srgb', true],
  ] as const)(
    'a photo in %s that lacks only its end mark is stored with one',
    async (_, space, progressive) => {
      const pixels = sharp(await photo(160, 120)).toColourspace(space);
      const whole = await pixels.jpeg({ progressive }).toBuffer();
      for (const lost of [1, 2]) {
        const file = whole.subarray(0, -lost);
        const { bytes, original, removed } = await bench.convert(file, { format: 'auto' });
        const end = bytes.toString('hex', bytes.length - 2);
        expect([end, original.kept, removed]).toEqual(['ffd9', false, []]);
        expect((await sharp(bytes, { failOn: 'warning' }).stats()).isOpaque).toBe(true);
      }
      const soft = await pixels.clone().blur(9).jpeg({ progressive, quality: 30 }).toBuffer();
      for (const file of [whole, soft])
        for (let lost = 4; lost < 40; lost++) {
          const cut = bench.convert(file.subarray(0, -lost), { format: 'auto' });
          await expect(cut).rejects.toMatchObject({ code: 'undecodable_image' });
        }
    },
  );

  test('a file that the system does not open makes its conversion unavailable', async () => {
    const away = bench.convert(await privatePhoto('jpeg'), { input: `${import.meta.path}/none` });
    await expect(away).rejects.toMatchObject({ code: 'unavailable', cause: { code: 'ENOTDIR' } });
  });

  const names = { jpeg: 'JPEG', png: 'PNG', webp: 'WebP', avif: 'AVIF', tiff: 'TIFF' } as const;
  for (const [format, name] of Object.entries(names) as [keyof typeof names, string][]) {
    test(`half a ${format} is refused by its name`, async () => {
      const good = await privatePhoto(format);
      await expect(bench.convert(good.subarray(0, good.length / 2))).rejects.toMatchObject({
        code: 'undecodable_image',
        message: expect.stringContaining(`The ${name}`),
      });
    });
  }
});
