import { describe, expect, test } from 'bun:test';
import sharp from 'sharp';
import { decodeTiff } from '../../src/codec/decoders/tiff.ts';
import { startCodec } from '../support/codec/codec.ts';
import { photo } from '../support/images/images.ts';
import { planarTiff, tiffFile } from '../support/images/tiff-files.ts';
import { createRandom } from '../support/random.ts';
import { shared } from '../support/shared.ts';

const bench = shared(() => startCodec());

const LIMITS = { maxPixels: 1e6, maxFrames: 10, heic: true };

/** Returns the pixels that are drawn here, or `null` if the file is left to libvips. */
async function drawn(file: Buffer, limits = LIMITS): Promise<Buffer | null> {
  const { still } = await decodeTiff(file, limits, sharp);
  return still ? sharp(still).ensureAlpha().raw().toBuffer() : null;
}

/** Pixels of both, and the most that any number differs. */
async function mostOff(file: Buffer, picture: Buffer): Promise<number> {
  const pixels = await drawn(file);
  const wanted = await sharp(picture).ensureAlpha().raw().toBuffer();
  expect(pixels?.length).toBe(wanted.length);
  return wanted.reduce((most, value, at) => Math.max(most, Math.abs(value - (pixels?.[at] ?? 0))), 0);
}

const lossless = async (width: number, height: number) =>
  sharp(await photo(width, height))
    .png()
    .toBuffer();

describe('TIFF with tiles of one sample each', () => {
  test.each([
    ['as they are', { compression: 'none' }, 8],
    ['by LZW, as differences of 16 bits', { compression: 'lzw', predictor: 'horizontal' }, 16],
    ['by deflate', { compression: 'deflate', predictor: 'none' }, 8],
  ] as const)('has the pixels of its picture, packed %s', async (_, options, depth) => {
    const picture = await lossless(150, 100);
    expect(await mostOff(await planarTiff(picture, options, { depth }), picture)).toBeLessThan(2);
  });

  test('may be narrow and long, in tiles that are mostly outside it', async () => {
    const picture = await lossless(10, 30_000);
    const file = await planarTiff(picture, { compression: 'lzw', predictor: 'none' }, { side: 256 });
    expect(await mostOff(file, picture)).toBe(0);
  });

  test('keeps its transparency, with premultiplied colours or not', async () => {
    const picture = await sharp(await lossless(70, 70))
      .ensureAlpha(0.5)
      .png()
      .toBuffer();
    expect(await mostOff(await planarTiff(picture, { compression: 'lzw', predictor: 'none' }), picture)).toBe(
      0,
    );
    const half = await sharp(await sharp(picture).linear([0.5, 0.5, 0.5, 1], [0, 0, 0, 0]).png().toBuffer())
      .png()
      .toBuffer();
    const multiplied = await planarTiff(half, { compression: 'none' }, { extra: 1 });
    expect(await mostOff(multiplied, picture)).toBeLessThan(4);
  });

  test('is refused beyond the pixel limit before anything is unpacked', async () => {
    const file = await planarTiff(await lossless(150, 100), { compression: 'lzw' });
    await expect(drawn(file, { ...LIMITS, maxPixels: 14_999 })).rejects.toThrow('14999 are allowed');
  });

  test('is refused wherever it is damaged or truncated', async () => {
    const file = await planarTiff(await lossless(150, 100), { compression: 'lzw' });
    const random = createRandom(9);
    for (let round = 0; round < 400; round++) {
      const hurt = Buffer.from(
        file.subarray(0, round % 2 ? file.length : Math.floor(random() * file.length)),
      );
      for (let count = 0; count < 3; count++)
        hurt[Math.floor(random() * Math.min(400, hurt.length))] = Math.floor(random() * 256);
      try {
        await drawn(hurt);
      } catch (error) {
        // A mistake of the decoder itself.
        if (error instanceof TypeError) throw error;
      }
    }
  });
});

test('TIFF in CIELab has the right colours', async () => {
  const colours = [54, 81, 70, 46, -51, 50, 83, -86, 83, 100, 0, 0].map((value, place) =>
    place % 3 === 0 ? Math.round(value * 2.55) : value & 255,
  );
  const tags = { 256: [4], 257: [1], 258: [8, 8, 8], 259: [1], 262: [8], 277: [3], 278: [1] };
  const pixels = await drawn(tiffFile(tags, [Buffer.from(colours)], 273));
  // Red, a green, the brightest green and white, by the same numbers in littleCMS.
  const wanted = [[255, 0, 0], [0, 128, 0], null, [255, 255, 255]];
  for (const [place, colour] of wanted.entries()) {
    for (const [channel, value] of (colour ?? []).entries())
      expect(Math.abs((pixels?.[place * 4 + channel] ?? 0) - value)).toBeLessThan(7);
  }
});

test('TIFF with 12-bit samples keeps the upper 8 bits, even if a row ends within a byte', async () => {
  // Three pixels a row: 0xabc 0xdef 0x123, and 0x456 0x789 0xfed; each row is filled up to whole bytes.
  const rows = Buffer.from('abcdef1230' + '456789fed0', 'hex');
  const tags = { 256: [3], 257: [2], 258: [12], 259: [1], 262: [1], 277: [1], 278: [2] };
  const pixels = await drawn(tiffFile(tags, [rows], 273));
  const greys = [0xab, 0xde, 0x12, 0x45, 0x78, 0xfe];
  expect([...(pixels ?? [])]).toEqual(greys.flatMap((grey) => [grey, grey, grey, 255]));
});

test('TIFF in YCbCr with as many samples of each has the right colours, and is otherwise left to libvips', async () => {
  const colours = Buffer.from([76, 85, 255, 29, 255, 107, 128, 128, 128]);
  const tags = { 256: [3], 257: [1], 258: [8, 8, 8], 259: [1], 262: [6], 277: [3], 278: [1] };
  const whole = { ...tags, 530: [1, 1] };
  // Of 16 bits, the lower eight are left out.
  const wide = Buffer.from([...colours].flatMap((upper) => [1, upper]));
  // Red, blue and grey, by the table of JPEG.
  const wanted = [254, 0, 0, 255, 0, 0, 254, 255, 128, 128, 128, 255];
  for (const file of [
    tiffFile(whole, [colours], 273),
    tiffFile({ ...whole, 258: [16, 16, 16] }, [wide], 273),
  ]) {
    const pixels = await drawn(file);
    for (const [at, value] of wanted.entries())
      expect(Math.abs((pixels?.[at] ?? 999) - value)).toBeLessThan(2);
  }
  expect(await drawn(tiffFile({ ...tags, 530: [2, 1] }, [colours], 273))).toBeNull();
  expect(await drawn(tiffFile(tags, [colours], 273))).toBeNull();
});

test('a selection or a spot colour of a TIFF hides nothing, in any depth or size, and beside transparency', async () => {
  for (const [depth, extra, maxWidth, colours] of [
    [8, [0], 2, [200, 100, 50]],
    [16, [0], 2, [200, 100, 50]],
    [8, [0], 1, [200, 100, 50]],
    [8, [2], 2, [200, 100, 50]],
    [8, [2, 0], 2, [200, 100, 50]],
    [8, [2, 0], 2, [200]],
  ] as const) {
    const samples = colours.length + extra.length;
    const shape = { 256: [2], 257: [1], 258: Array(samples).fill(depth), 259: [1], 277: [samples], 278: [1] };
    const pixels = [...colours, 0, 255].slice(0, samples).flatMap((value) => Array(depth / 8).fill(value));
    const tags = { ...shape, 262: [colours.length === 1 ? 1 : 2], 338: [...extra] };
    const file = tiffFile(tags, [Buffer.from([...pixels, ...pixels])], 273);
    const { bytes } = await bench.convert(file, { format: 'png', maxWidth });
    const [...first] = (await sharp(bytes).ensureAlpha().raw().toBuffer()).subarray(0, 4);
    const [red, green = red, blue = red] = colours;
    expect(first).toEqual([red, green, blue, extra[0] === 0 ? 255 : 0]);
  }
});

test('tiles may have any sides, CIELab an alpha that nothing describes, and damaged tiles of it are refused', async () => {
  // Two tiles of 2 x 1 samples of 12 bits, turned by 90 degrees: 0xabc 0xdef, and 0x123 beside the picture's edge.
  const tiles = ['abcdef', '123000'].map((hex) => Buffer.from(hex, 'hex'));
  const grey = { 256: [3], 257: [1], 258: [12], 259: [1], 262: [1], 277: [1], 322: [2], 323: [1] };
  for (const [turned, greys] of [
    [1, [0xab, 0xde, 0x12]],
    [2, [0x12, 0xde, 0xab]],
    [6, [0xab, 0xde, 0x12]],
    [8, [0x12, 0xde, 0xab]],
  ] as const) {
    const pixels = await drawn(tiffFile({ ...grey, 274: [turned] }, tiles, 324));
    expect([...(pixels ?? [])]).toEqual(greys.flatMap((value) => [value, value, value, 255]));
  }
  const lab = { 256: [16], 257: [16], 258: [8, 8, 8], 262: [8], 277: [3] };
  const four = tiffFile(
    { ...lab, 258: [8, 8, 8, 8], 259: [1], 277: [4], 278: [16] },
    [Buffer.alloc(1024, 255)],
    273,
  );
  expect([...((await drawn(four))?.subarray(3, 4) ?? [])]).toEqual([255]);
  const damaged = tiffFile({ ...lab, 259: [8], 322: [16], 323: [16] }, [Buffer.alloc(900)], 324);
  await expect(drawn(damaged)).rejects.toThrow();
});

test('tiles of JPEG may share their tables, and grey with alpha may be in strips of each', async () => {
  const jpeg = await sharp({ create: { width: 16, height: 16, channels: 3, background: '#808080' } })
    .toColourspace('b-w')
    .jpeg()
    .toBuffer();
  const [start, end] = [jpeg.subarray(0, 2), jpeg.subarray(-2)];
  const [tables, own] = [[start], [start]];
  let at = 2;
  for (; jpeg[at + 1] !== 0xda; at += 2 + jpeg.readUInt16BE(at + 2))
    ([0xdb, 0xc4].includes(jpeg[at + 1] ?? 0) ? tables : own).push(
      jpeg.subarray(at, at + 2 + jpeg.readUInt16BE(at + 2)),
    );
  const tile = Buffer.concat([...own, jpeg.subarray(at)]);
  const tags = { 256: [16], 257: [16], 258: [8, 8, 8], 262: [2], 277: [3], 284: [2] };
  const shared = { ...tags, 259: [7], 322: [16], 323: [16], 347: Buffer.concat([...tables, end]) };
  expect((await drawn(tiffFile(shared, [tile, tile, tile], 324)))?.subarray(0, 4)).toEqual(
    Buffer.from([128, 128, 128, 255]),
  );
  const grey = { ...tags, 258: [8, 8], 259: [1], 262: [1], 277: [2], 278: [16], 338: [2] };
  const planes = [Buffer.alloc(256, 7), Buffer.alloc(256, 9)];
  expect((await drawn(tiffFile(grey, planes, 273)))?.subarray(0, 4)).toEqual(Buffer.from([7, 7, 7, 9]));
});

test('the preview of a raw photo is not taken for the picture, but a picture that was made smaller is', async () => {
  const tags = { 254: [1], 256: [1], 257: [1], 258: [8, 8, 8], 259: [1], 262: [2], 277: [3], 278: [1] };
  const file = (all: typeof tags) => tiffFile(all, [Buffer.alloc(3)], 273);
  expect(await drawn(file(tags))).toBeNull();
  await expect(drawn(file({ ...tags, ...{ 330: [8] } }))).rejects.toThrow('is a preview');
  const followedBy = (...others: (typeof tags)[]) => {
    let whole = file(tags);
    let last = 8;
    for (const next of others) {
      whole.writeUInt32LE(whole.length, last + 2 + whole.readUInt16LE(last) * 12);
      last = whole.length;
      whole = Buffer.concat([whole, file(next).subarray(8)]);
    }
    return whole;
  };
  const larger = { ...tags, 256: [2] };
  expect(await drawn(followedBy(larger))).toBeNull();
  await expect(drawn(followedBy({ ...larger, 254: [0] }))).rejects.toThrow('is a preview');
  await expect(drawn(followedBy(larger, { ...larger, 254: [0] }))).rejects.toThrow('is a preview');
  // Its mask, or a smaller one that nothing marks.
  expect(await drawn(followedBy({ ...tags, 254: [4] }))).toBeNull();
});

test('tags that all have the same megabytes as their values take the memory of two', async () => {
  const values = Buffer.alloc(2 ** 22, 1);
  const tags = Object.fromEntries(
    [256, 257, 258, 259, 262, 274, 277, 278, 284, 317].map((tag) => [tag, values]),
  );
  const file = tiffFile(tags, [], 273);
  const first = file.readUInt32LE(18);
  for (let entry = 1; entry < 10; entry++) file.writeUInt32LE(first, 18 + entry * 12);
  const before = process.memoryUsage().rss;
  expect(await drawn(file)).toBeNull();
  expect(process.memoryUsage().rss - before).toBeLessThan(150e6);
});

test('a tile far larger than its picture is refused before memory is allocated', async () => {
  const tags = { 256: [9], 257: [9], 258: [8, 8, 8], 259: [5], 262: [2], 277: [3], 284: [2] };
  const tiles = { 322: [60_000], 323: [16_000] };
  const file = tiffFile({ ...tags, ...tiles }, Array(3).fill(Buffer.alloc(9)), 324);
  await expect(drawn(file, { ...LIMITS, maxPixels: 1e9 })).rejects.toThrow('damaged or truncated');
});

test('files that libvips can read are left to it', async () => {
  const picture = sharp(await lossless(40, 40));
  for (const tile of [true, false])
    expect(await drawn(await picture.clone().tiff({ tile }).toBuffer())).toBeNull();
  expect(await drawn(Buffer.from('MM\0*\0\0\0\x08\0\0\0\0\0\0', 'latin1'))).toBeNull();
});

test('a file of too many directories is refused before they are counted again and again', async () => {
  const chain = Buffer.alloc(8 + 6 * 20_000);
  chain.write('II*\0', 'latin1');
  for (let at = 4; at + 8 < chain.length; at += 6) chain.writeUInt32LE(at + 4, at);
  await expect(drawn(chain)).rejects.toThrow('damaged or truncated');
});

test('directories that share megabytes are not read again for each of them', async () => {
  const tags = { 254: [1], 256: [1], 257: [1], 258: [8], 259: [1], 262: [1], 277: [1], 278: [1] };
  const file = tiffFile(tags, [Buffer.alloc(1)], 273);
  const next = Buffer.alloc(18 * 300);
  for (let at = 0; at < next.length; at += 18) {
    next.set([1, 0, 254, 0, 1, 0, 0, 0, 64, 0], at);
    if (at + 18 < next.length) next.writeUInt32LE(file.length + at + 18, at + 14);
  }
  file.writeUInt32LE(file.length, 8 + 2 + file.readUInt16LE(8) * 12);
  const start = performance.now();
  expect(await drawn(Buffer.concat([file, next, Buffer.alloc(2 ** 22 + 1000)]))).toBeNull();
  expect(performance.now() - start).toBeLessThan(2000);
});

test('bits of tiles may be in either order, and damaged tiles are refused', async () => {
  const tags = { 256: [16], 257: [16], 258: [8, 8, 8], 262: [2], 266: [2], 277: [3], 284: [2], 322: [16] };
  const tile = Buffer.alloc(256, 1);
  const file = tiffFile({ ...tags, 259: [1], 323: [16] }, [tile, tile, tile], 324);
  expect([...((await drawn(file))?.subarray(0, 4) ?? [])]).toEqual([128, 128, 128, 255]);
  const damaged = tiffFile({ ...tags, 259: [5], 323: [16] }, [tile, tile, tile], 324);
  await expect(drawn(damaged)).rejects.toThrow();
});

test('a photo that declares too few bytes does not become one without loss', async () => {
  const { data, info } = await sharp(await photo(200, 200))
    .raw()
    .toBuffer({ resolveWithObject: true });
  const tags = { 256: [200], 257: [200], 258: Array(info.channels).fill(8), 259: [1], 262: [2], 278: [200] };
  const file = tiffFile({ ...tags, 277: [info.channels] }, [data], 273);
  file.writeUInt32LE(1, file.indexOf(Buffer.from([0x17, 1, 4, 0])) + 8);
  const { original } = await bench.convert(file);
  expect(original.quality).not.toBeNull();
});

test('what a TIFF tells in its own directories is told, and a drawing in it keeps its edges', async () => {
  const tags = { 256: [64], 257: [64], 258: [1], 259: [1], 262: [1], 277: [1], 278: [64] };
  const gps = Buffer.from([2, 0, 2, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const file = tiffFile({ ...tags, 271: Buffer.from('Camera'), 34853: gps }, [Buffer.alloc(512, 0xa7)], 273);
  // The directory of GPS is a LONG: its place.
  const at = file.indexOf(Buffer.from([0x25, 0x88, 7, 0]));
  file.set([4, 0, 1, 0, 0, 0], at + 2);
  const stripped = await bench.convert(file, { stripExif: true });
  const kept = await bench.convert(file, { stripExif: false });
  expect(stripped.removed).toEqual(['location', 'metadata']);
  expect(kept.warnings.map(({ code }) => code)).toEqual(['metadata_dropped']);
  expect(stripped.original.quality).toBeNull();
});

test('compression that is not read is named, with what to do instead', async () => {
  const picture = await sharp(await photo(40, 30))
    .tiff({ compression: 'none' })
    .toBuffer();
  // The entry of tag 259, compression: SHORT, one value.
  const at = picture.indexOf(Buffer.from([3, 1, 3, 0, 1, 0, 0, 0]));
  for (const compression of [6, 34_925, 50_000]) {
    picture.writeUInt16LE(compression, at + 8);
    const fault = await bench.convert(picture).catch((error) => error);
    expect(fault.message).toContain('save it with LZW, or as PNG');
  }
});

test('samples of unknown range are refused, because grey from 0 to 1 would be black; fractions of light in RGB are not', async () => {
  const tags = { 256: [2], 257: [1], 258: [32, 32, 32], 262: [2], 277: [3], 278: [1], 339: [3, 3, 3] };
  const half = Buffer.alloc(4);
  half.writeFloatLE(0.5);
  const light = Buffer.concat(Array(6).fill(half));
  const integers = tiffFile({ ...tags, 262: [8], 339: [2, 2, 2] }, [light], 273);
  const grey = { ...tags, 258: [32], 262: [1], 277: [1] };
  const fractions = tiffFile(grey, [light.subarray(0, 8)], 273);
  const fromWhite = tiffFile({ ...grey, 262: [0], 339: [2] }, [light.subarray(0, 8)], 273);
  const gaps = { ...grey, 339: [2], 42113: Buffer.from('-9999\0') };
  const withGaps = tiffFile(gaps, [light.subarray(0, 8)], 273);
  // A text.
  withGaps.writeUInt8(2, withGaps.indexOf('81a4', 0, 'hex') + 2);
  for (const file of [integers, fractions, fromWhite, withGaps]) {
    const fault = await bench.convert(file).catch((error) => error);
    expect([fault.code, fault.message]).toEqual([
      'undecodable_image',
      expect.stringContaining('save it with 8 or 16 bits'),
    ]);
  }
  const { bytes } = await bench.convert(tiffFile(tags, [light], 273), { format: 'png' });
  expect([...(await sharp(bytes).raw().toBuffer())]).toEqual(Array(6).fill(188));
});

test.each([
  ['signed ones of 8 bits', 2, Int8Array.of(-100, 0, 100)],
  ['signed ones of 16 bits', 2, Int16Array.of(-1000, 1000, 3000)],
  ['signed ones of 32 bits', 2, Int32Array.of(0, 30_000, 60_000)],
  ['others of 32 bits', 1, Uint32Array.of(7, 8, 9)],
])('grey measurements are shown from the lowest to the highest: %s', async (_, kind, samples) => {
  const tags = { 256: [3], 257: [1], 258: [8 * samples.BYTES_PER_ELEMENT], 262: [1], 277: [1], 278: [1] };
  const file = tiffFile({ ...tags, 339: [kind] }, [Buffer.from(samples.buffer)], 273);
  const { bytes } = await bench.convert(file, { format: 'png' });
  const shown = await sharp(bytes).toColourspace('b-w').raw({ depth: 'uchar' }).toBuffer();
  expect([...shown].map((value) => Math.round(value / 2))).toEqual([0, 64, 128]);
});
