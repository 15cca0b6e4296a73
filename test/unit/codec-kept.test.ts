import { describe, expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { bareFile, keptFile } from '../../src/codec/convert/kept.ts';
import { triesFor } from '../../src/codec/convert/quality.ts';
import { bareIcc } from '../../src/codec/kept/icc.ts';
import { startCodec } from '../support/codec/codec.ts';
import { linearGrey, withChunk } from '../support/images/colours.ts';
import { gifOfFrames } from '../support/images/hostile-images.ts';
import { animation, photo, quarters } from '../support/images/images.ts';
import { behindPixels, mutant } from '../support/images/mutants.ts';
import { needlessBytes } from '../support/images/needless-bytes.ts';
import { shared } from '../support/shared.ts';

const bench = shared(() => startCodec({ sandbox: 'require' }));

const smallPhoto = async () => sharp(await photo(320, 240));
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
  jpeg: async () => (await smallPhoto()).jpeg({ quality: 30, mozjpeg: true }).toBuffer(),
  webp: async () => (await smallPhoto()).webp({ quality: 30, effort: 6 }).toBuffer(),
  avif: async () => (await smallPhoto()).avif({ quality: 25, effort: 4 }).toBuffer(),
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
    for (let seed = 0; seed < 28; seed++) {
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
    for (let seed = 0; seed < 420; seed++) bareFile(mutant(file, format, seed), format, seed % 2 === 0);
  });
});

test.each(['jpeg', 'webp', 'avif'] as const)(
  'a %s with bytes behind its pixels is not kept',
  async (format) => {
    const file = await SMALL[format]();
    for (const part of [0, 1]) {
      const hidden = behindPixels(file, format, part) ?? Buffer.alloc(0);
      expect((await sharp(hidden).metadata()).width).toBe(320);
      const made = await bench.convert(hidden, { format: 'auto' }).catch(() => null);
      expect([made?.original.kept ?? false, made?.bytes.includes('a secret') ?? false]).toEqual([
        false,
        false,
      ]);
    }
  },
);

test.each([
  [
    'lossless',
    async () =>
      sharp(await SMALL.gif())
        .webp({ lossless: true, effort: 6 })
        .toBuffer(),
  ],
  [
    'with a mask',
    async () => (await smallPhoto()).ensureAlpha(0.4).webp({ quality: 30, effort: 6 }).toBuffer(),
  ],
] as const)('a WebP %s is kept, but not with bytes behind its pixels', async (_, draw) => {
  const file = await draw();
  const whole = await bench.convert(file, { format: 'auto' });
  expect([whole.original.kept, whole.size]).toEqual([true, file.length]);
  const hidden = behindPixels(file, 'webp') ?? Buffer.alloc(0);
  const made = await bench.convert(hidden, { format: 'auto' }).catch(() => null);
  expect(made?.original.kept ?? false).toBe(false);
});

test('a small animation in WebP is kept with its frames, unless one leaves the canvas or has bytes behind its pixels', async () => {
  const file = await sharp(await animation('gif'), { animated: true })
    .webp({ quality: 30, effort: 6 })
    .toBuffer();
  const { frames, original, size } = await bench.convert(file, { format: 'auto' });
  expect([frames, original.kept, size <= file.length]).toEqual([3, true, true]);
  const frame = file.indexOf('ANMF');
  const outside = Buffer.from(file);
  outside.writeUIntLE(40, frame + 8, 3);
  expect([bareFile(file, 'webp', false) !== null, bareFile(outside, 'webp', false)]).toEqual([true, null]);
  const secret = Buffer.from('a secret of the uploader');
  const end = frame + 8 + file.readUInt32LE(frame + 4);
  const longer = Buffer.concat([file.subarray(0, end), secret, file.subarray(end)]);
  for (const at of [4, frame + 4, frame + 28])
    longer.writeUInt32LE(file.readUInt32LE(at) + secret.length, at);
  const made = await bench.convert(longer, { format: 'auto' });
  expect([made.frames, made.original.kept, made.bytes.includes(secret)]).toEqual([3, false, false]);
});

test('a JPEG with a second frame, other colours or a scan that draws again is not kept', async () => {
  const file = await SMALL.jpeg();
  const bare = (changed: Buffer) => bareFile(changed, 'jpeg', false);
  const frame = file.indexOf(Buffer.from([0xff, 0xc2]));
  const head = file.subarray(frame, frame + 19);
  const at = (place: number, ...bytes: Buffer[]) =>
    Buffer.concat([file.subarray(0, place), ...bytes, file.subarray(place)]);
  const adobe = Buffer.from('\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\0', 'latin1');
  expect([bare(file) !== null, bare(at(frame, head)), bare(at(2, adobe))]).toEqual([true, null, null]);
  const plain = await (await smallPhoto()).jpeg({ quality: 30 }).toBuffer();
  const scan = plain.subarray(plain.indexOf(Buffer.from([0xff, 0xda])), -2);
  const twice = Buffer.concat([plain.subarray(0, -2), scan, plain.subarray(-2)]);
  expect([bare(plain) !== null, bare(twice)]).toEqual([true, null]);
  const hidden = await bench.convert(behindPixels(plain, 'jpeg') ?? plain, { format: 'auto' });
  expect([hidden.original.kept, hidden.bytes.includes('a secret')]).toEqual([false, false]);
});

test('a JPEG with a table that no scan uses, that another replaces or that is empty is not kept', async () => {
  const file = await (await smallPhoto()).jpeg({ quality: 30 }).toBuffer();
  const bare = (...segments: Buffer[]) =>
    bareFile(Buffer.concat([file.subarray(0, 2), ...segments, file.subarray(2)]), 'jpeg', false) !== null;
  const quantised = (name: number) => Buffer.from([0xff, 0xdb, 0, 67, name, ...new Array(64).fill(1)]);
  const coded = (name: number) => Buffer.from([0xff, 0xc4, 0, 20, name, 1, ...new Array(15).fill(0), 0x41]);
  const empty = Buffer.from([0xff, 0xc4, 0, 2]);
  expect([bare(), bare(quantised(3)), bare(coded(3)), bare(coded(0)), bare(empty)]).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('an AVIF with a property that is not listed, another size or a moving part is not kept', async () => {
  const file = await SMALL.avif();
  const bare = (changed: Buffer) => bareFile(changed, 'avif', false);
  const renamed = (from: string, to: string) => {
    const changed = Buffer.from(file);
    changed.write(to, file.indexOf(from), 'latin1');
    return changed;
  };
  const smaller = Buffer.from(file);
  smaller.writeUInt32BE(300, file.indexOf('ispe') + 8);
  const moving = Buffer.concat([file, Buffer.from('\0\0\0\x08moov', 'latin1')]);
  expect(
    [bare(file), renamed('pixi', 'clap'), renamed('av01', 'grid'), smaller, moving].map((one, index) =>
      index === 0 ? one !== null : bare(one as Buffer),
    ),
  ).toEqual([true, null, null, null, null]);
  const masked = await (await smallPhoto()).ensureAlpha(0.4).avif({ quality: 25 }).toBuffer();
  const kept = await bench.convert(masked, { format: 'auto' });
  expect([kept.original.kept, (await sharp(kept.bytes).metadata()).hasAlpha]).toEqual([true, true]);
});

test('a kept AVIF describes its pixels as its units do, because browsers refuse all others', async () => {
  const [file, coded] = [await SMALL.avif(), await quarters(32, 32).avif({ lossless: true }).toBuffer()];
  const bare = (one: Buffer, name: string, place: number, byte: number) => {
    const changed = Buffer.from(one);
    changed[one.indexOf(name) + place] = byte;
    return bareFile(changed, 'avif', false)?.file;
  };
  // Depth, channels, shape of the chroma.
  const told = [bare(file, 'pixi', 9, 10), bare(file, 'pixi', 8, 1), bare(file, 'av1C', 6, 0)];
  for (const one of told) expect(one).toEqual(bareFile(file, 'avif', false)?.file);
  // A transfer that browsers do not know, and a reserved bit.
  const codes = [bare(coded, 'nclx', 7, 13), bare(coded, 'nclx', 7, 12), bare(coded, 'nclx', 10, 0x81)];
  expect(codes.map((one) => one !== undefined)).toEqual([true, false, false]);
});

/** A profile whose tags for curves have these values. */
function profileOf(values: readonly number[]): Buffer {
  const head = Buffer.alloc(132);
  head.write('RGB XYZ ', 16, 'latin1');
  head.write('acsp', 36, 'latin1');
  head.writeUInt32BE(1, 128);
  const curve = Buffer.alloc(24 + values.length * 2);
  curve.write('rTRC', 0, 'latin1');
  curve.writeUInt32BE(144, 4);
  curve.write('curv', 12, 'latin1');
  curve.writeUInt32BE(values.length, 20);
  for (const [index, value] of values.entries()) curve.writeUInt16BE(value, 24 + index * 2);
  return Buffer.concat([head, curve]);
}

test('the curves of a kept profile rise and are no longer than decoders need', () => {
  const rising = (count: number) => profileOf(Array.from({ length: count }, (_, at) => at));
  const profiles = [profileOf([]), rising(1024), rising(4096), rising(4097), profileOf([0, 9, 8])];
  expect(profiles.map((profile) => bareIcc(profile) !== null)).toEqual([true, true, true, false, false]);
});

test('decoders read the smallest profile of a kept PNG', async () => {
  const grey = await quarters().toColourspace('b-w').png().toBuffer();
  const profile = Buffer.concat([Buffer.from('grey\0\0'), deflateSync(linearGrey(), { level: 0 })]);
  const { file = grey } = bareFile(withChunk(grey, 'iCCP', profile), 'png', false) ?? {};
  expect((await sharp(file).metadata()).icc).toBeDefined();
});

test('a JPEG is kept with one EXIF at most, and with no part that only looks like metadata', async () => {
  const file = await SMALL.jpeg();
  const part = (marker: number, text: string) =>
    Buffer.concat([Buffer.from([0xff, marker, 0, text.length + 2]), Buffer.from(text, 'latin1')]);
  const bare = (...parts: Buffer[]) =>
    bareFile(Buffer.concat([file.subarray(0, 2), ...parts, file.subarray(2)]), 'jpeg', true)?.file;
  const exif = part(0xe1, 'Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0');
  expect([bare(exif)?.includes(exif), bare(exif, exif)]).toEqual([true, undefined]);
  expect(bare(part(0xe9, 'http://ns.adobe.com/xap/1.0/\0'), part(0xe1, 'http://a secret'))).toEqual(bare());
});

test('colours without a pixel are black in a kept GIF', async () => {
  const file = await SMALL.gif();
  const shared = 3 << ((file.readUInt8(10) & 7) + 1);
  const larger = Buffer.alloc(768);
  larger.set(file.subarray(13, 13 + shared));
  larger.write('a secret of the uploader', 700);
  const head = Buffer.from(file.subarray(0, 13));
  head[10] = file.readUInt8(10) | 7;
  const bare = (...parts: Buffer[]) => bareFile(Buffer.concat(parts), 'gif', false)?.file;
  expect(bare(head, larger, file.subarray(13 + shared))?.includes('a secret')).toBe(false);
  const own = file.indexOf(Buffer.from([0x2c, 0, 0, 0, 0]));
  const image = Buffer.from(file.subarray(own, own + 10));
  image[9] = image.readUInt8(9) | 0x87;
  const local = bare(file.subarray(0, own), image, larger, file.subarray(own + 10));
  expect(local?.includes('a secret')).toBe(false);
});

test('a picture of more than 50 megapixels is encoded, and an animation of more than that looked at in parts', async () => {
  const path = join(bench.folder, 'large');
  const isKept = (format: 'jpeg' | 'gif', frames: number, pixels: number) =>
    keptFile(path, { format, frames, keepsExif: false, pixels }, sharp).then((file) => file !== null);
  await writeFile(path, await SMALL.jpeg());
  expect([await isKept('jpeg', 1, 5e7), await isKept('jpeg', 1, 5e7 + 1)]).toEqual([true, false]);
  await writeFile(path, (await bench.convert(await animation('gif'), { format: 'gif' })).bytes);
  // Of three frames, the third is in the second part, and a fourth in none.
  const kept = [await isKept('gif', 3, 2.5e7), await isKept('gif', 4, 2e7), await isKept('gif', 3, 4e7)];
  expect(kept).toEqual([true, false, false]);
});

test('a WebP is kept if another change of its last bytes shows, where the first one does not by chance', async () => {
  const path = join(bench.folder, 'chance');
  const drawn = (file: Buffer) => sharp(file).raw().toBuffer();
  let byChance = 0;
  for (let seed = 40; seed < 60 && byChance === 0; seed++) {
    // Not a multiple of the codec's blocks, whose last bytes are then about what is hardly seen.
    const noise = Buffer.from(Array.from({ length: 24 * 24 * 3 }, (_, at) => (at * at * seed) % 251));
    const file = await sharp(noise, { raw: { width: 24, height: 24, channels: 3 } })
      .webp()
      .toBuffer();
    const [trial] = bareFile(file, 'webp', false)?.trials?.() ?? [];
    const inverted = await drawn(trial?.changed.at(-1)?.(0xff) ?? file);
    await writeFile(path, file);
    const asked = { format: 'webp' as const, frames: 1, keepsExif: false, pixels: 24 * 24 };
    if (inverted.equals(await drawn(file)) && (await keptFile(path, asked, sharp))) byChance++;
  }
  expect(byChance).toBe(1);
});

test('a PNG that viewers may animate is never kept', async () => {
  const { bytes } = await bench.convert(await animation('gif'), { format: 'png' });
  expect(bareFile(bytes, 'png', false)).toBeNull();
  const still = await SMALL.png();
  expect(bareFile(still, 'png', false)).not.toBeNull();
  expect(bareFile(withChunk(still, 'acTL', Buffer.alloc(8)), 'png', false)).toBeNull();
});

test('a GIF of which viewers draw more or less than the decoder here is not kept', async () => {
  const file = await SMALL.gif();
  const [screen, frame] = [8, file.indexOf(Buffer.from([0x2c, 0, 0, 0, 0])) + 7];
  const bare = (heights: Record<number, number>) => {
    const changed = Buffer.from(file);
    for (const [at, height] of Object.entries(heights)) changed.writeUInt16LE(height, Number(at));
    return bareFile(changed, 'gif', false) !== null;
  };
  // A frame that leaves the screen, or frames that leave it open; pixels that are missing, or that have no colour.
  const changed = [{}, { [screen]: 100 }, { [screen]: 4000 }, { [screen]: 121, [frame]: 121 }];
  expect(changed.map(bare)).toEqual([true, false, false, false]);
  const tiny = Buffer.from('2c00000000010001000002024401', 'hex');
  const first = file.indexOf(Buffer.from([0x2c, 0, 0, 0, 0]));
  const later = Buffer.concat([file.subarray(0, first), tiny, Buffer.from([0]), file.subarray(first)]);
  expect(bareFile(later, 'gif', false) !== null).toBe(true);
  const half = Buffer.concat([file.subarray(0, 13 + 12), file.subarray(13 + 24)]);
  half[10] = half.readUInt8(10) - 1;
  expect(bareFile(half, 'gif', false) !== null).toBe(false);
  // No pixel at all.
  const lacking = Buffer.concat([
    file.subarray(0, first),
    Buffer.from(tiny).fill('022c00', 11, 14, 'hex'),
    Buffer.from([0]),
    file.subarray(first),
  ]);
  expect(bareFile(lacking, 'gif', false)).toBeNull();
});

test('a WebP with a mask that its head denies is not kept, because some viewers believe the mask', async () => {
  const file = await quarters(64, 64).ensureAlpha(0.4).webp({ lossless: true, effort: 6 }).toBuffer();
  const kept = async (one: Buffer) => (await bench.convert(one, { format: 'auto' })).original.kept;
  const denied = Buffer.from(file);
  const head = file.indexOf('VP8L') + 12;
  denied[head] = file.readUInt8(head) & ~0x10;
  expect([await kept(file), await kept(denied)]).toEqual([true, false]);
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

test('a GIF with hardly a byte for a hundred pixels is kept without being encoded', async () => {
  const first = await sharp({ create: { width: 300, height: 200, channels: 3, background: '#fff' } })
    .gif()
    .toBuffer();
  // An encoder would merge the equal frames, which is smaller. Each is cleared, but shows no colour that is transparent.
  const others = gifOfFrames(99, 300, 200)
    .toString('latin1', 19)
    .replaceAll('\x21\xf9\x04\0', '\x21\xf9\x04\x08');
  const file = Buffer.concat([first.subarray(0, -1), Buffer.from(others, 'latin1')]);
  const { frames, original } = await bench.convert(file, { format: 'gif' });
  expect([frames, original.kept]).toEqual([100, true]);
});

test('a large picture and an animation are encoded again once, which the time limit allows', () => {
  const tries = (width: number, animated: boolean) => triesFor({ width, height: 4000 }, animated);
  expect([tries(5000, false), tries(5001, false), tries(100, true)]).toEqual([3, 1, 1]);
});

test.each([
  ['jpeg', true],
  ['jpeg', false],
  ['avif', false],
] as const)(
  'the first frame of an animation is not turned in %s, as the animation is not, without metadata: %p',
  async (format, stripExif) => {
    const wide = await sharp(await animation('webp'), { animated: true })
      .resize(60, 30, { fit: 'fill' })
      .withMetadata({ orientation: 6 })
      .webp()
      .toBuffer();
    const still = await bench.convert(wide, { format, stripExif });
    const moving = await bench.convert(wide, { format: 'gif', stripExif });
    for (const { width, height, bytes } of [still, moving]) {
      const { autoOrient } = await sharp(bytes).metadata();
      expect([width, height, autoOrient]).toEqual([60, 30, { width: 60, height: 30 }]);
    }
  },
);
