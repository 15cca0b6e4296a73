import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { parseHeader } from '../../src/codec/convert/header.ts';
import { startCodec } from '../support/codec/codec.ts';
import { avifSequence } from '../support/images/avif-sequence.ts';
import { adobeProfile } from '../support/images/colours.ts';
import { shared } from '../support/shared.ts';

/** Three frames in the colours of `images.ts`, of which the first alone is a key frame; made by libavif. */
const file = await readFile('test/fixtures/moving.avif');
const COLOURS = [
  [220, 30, 30],
  [30, 200, 30],
  [30, 30, 220],
] as const;

const bench = shared(() => startCodec({ sandbox: 'require', workers: 1 }));

/** Returns the middle of each frame. */
async function middles(bytes: Buffer): Promise<number[][]> {
  const { pages = 1 } = await sharp(bytes).metadata();
  return Promise.all(
    Array.from({ length: pages }, async (_, page) => {
      const { data, info } = await sharp(bytes, { page }).raw().toBuffer({ resolveWithObject: true });
      const at = (Math.floor(info.height / 2) * info.width + info.width / 2) * info.channels;
      return [...data.subarray(at, at + info.channels)];
    }),
  );
}

function expectNear(found: readonly number[][], colours: readonly (readonly number[])[], most = 3): void {
  const off = colours.map((colour, frame) => colour.map((value, at) => value - (found[frame]?.[at] ?? 999)));
  expect(Math.max(...off.flat().map(Math.abs))).toBeLessThan(most);
  expect(found.length).toBe(colours.length);
}

test('an animated AVIF keeps its frames, of which each builds on those before it', async () => {
  const { bytes, frames, width, height } = await bench.convert(file);
  expect({ frames, width, height }).toEqual({ frames: 3, width: 48, height: 32 });
  expectNear(await middles(bytes), COLOURS);
});

test('an animated AVIF keeps its delays, its repetitions and its mask', async () => {
  const moving = await avifSequence({
    frames: COLOURS,
    opacity: [255, 128, 0],
    delays: [100, 200, 300],
    edits: { repeats: true, times: 4 },
  });
  const { bytes, original } = await bench.convert(moving, { format: 'auto' });
  expect(original.format).toBe('avif');
  expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', delay: [100, 200, 300], loop: 4 });
  expectNear(
    (await middles(bytes)).map((colour) => colour.slice(3)),
    [[255], [128], [0]],
  );
});

test('an animated AVIF is turned with its mask as it says itself, in still formats as well', async () => {
  const moving = await avifSequence({ frames: COLOURS, opacity: [255, 128, 0], turns: 3 });
  for (const [format, frames] of [
    ['auto', 3],
    ['png', 3],
    ['jpeg', 1],
  ] as const) {
    expect(await bench.convert(moving, { format })).toMatchObject({ width: 8, height: 16, frames });
  }
});

test('colours that are multiplied by a mask are divided before their profile counts, and keep it', async () => {
  const linear = Buffer.from('curv\0\0\0\0\0\0\0\0', 'latin1');
  const profile = adobeProfile({ rTRC: linear, gTRC: linear, bTRC: linear });
  const moving = await avifSequence({
    frames: Array(2).fill([100, 100, 100]),
    opacity: [128, 128],
    premultiplied: true,
    colours: [Buffer.concat([Buffer.from('prof'), profile])],
  });
  // A single frame is drawn in another way.
  for (const format of ['webp', 'avif'] as const) {
    const shown = await middles((await bench.convert(moving, { format })).bytes);
    expectNear(shown.slice(0, 1), [[229, 229, 229, 128]], 6);
  }
  const { bytes } = await bench.convert(moving, { format: 'avif', stripExif: false });
  expect((await sharp(bytes).metadata()).icc).toEqual(profile);
});

test('an animated AVIF with more properties than pictures can have is read without them', async () => {
  const colours = Array.from({ length: 300 }, (_, code) =>
    Buffer.from([...Buffer.from('nclx'), 0, 1, 0, 13, code >> 8, code & 255, 128]),
  );
  const moving = await avifSequence({ frames: COLOURS, colours });
  expect((await bench.convert(moving)).frames).toBe(3);
});

test.each([
  ['without a list of edits', undefined, 0],
  ['with edits that are not repeated', { repeats: false, times: 3 }, 1],
])('an animated AVIF %s is played as browsers do', async (_, edits, loop) => {
  const moving = await avifSequence({ frames: COLOURS, ...(edits && { edits }) });
  expect(await sharp((await bench.convert(moving)).bytes).metadata()).toMatchObject({ loop });
});

test('an animated AVIF with a frame that stays longer than WebP can say stays as long as that', async () => {
  const made = await bench.convert(await avifSequence({ frames: COLOURS, delays: [70_000, 200, 300] }));
  expect((await sharp(made.bytes).metadata()).delay).toEqual([65_535, 200, 300]);
});

test('a still picture that is not the first frame is not shown in its place, but its metadata are told', async () => {
  const moving = await avifSequence({ frames: COLOURS, cover: COLOURS[1] });
  const { bytes, removed } = await bench.convert(moving, { format: 'jpeg' });
  expectNear(await middles(bytes), [COLOURS[0]]);
  const { warnings } = await bench.convert(moving, { stripExif: false });
  expect([removed, warnings.map(({ code }) => code)]).toEqual([['metadata'], ['metadata_dropped']]);
});

test('the profile of an animated AVIF takes precedence over codes, as in a still one', async () => {
  const create = { width: 8, height: 8, channels: 3, background: 'red' } as const;
  const still = await sharp({ create }).withIccProfile('srgb').png().toBuffer();
  const { icc = Buffer.alloc(0) } = await sharp(still).metadata();
  const hashWith = async (primaries: number) => {
    const codes = Buffer.from([...Buffer.from('nclx'), 0, primaries, 0, 13, 0, 6, 0x80]);
    const colours = [Buffer.concat([Buffer.from('prof'), icc]), codes];
    return (await bench.convert(await avifSequence({ frames: COLOURS, colours }))).hash;
  };
  expect(await hashWith(12)).toBe(await hashWith(1));
});

test('a damaged animated AVIF is not said to be HEIF', async () => {
  const broken = await avifSequence({ frames: COLOURS });
  broken.write('none', broken.indexOf('av1C'));
  await expect(bench.convert(broken)).rejects.toMatchObject({ code: 'undecodable_image' });
});

test('tables of a track that is not shown are not read', async () => {
  const moving = await avifSequence({ frames: COLOURS, opacity: [1, 2, 3] });
  moving.writeUInt32BE(4_000_000_000, moving.lastIndexOf('stsz') + 12);
  await expect(bench.convert(moving)).resolves.toMatchObject({ frames: 3 });
});

test('its size is known before it is decoded, though it has no still picture', async () => {
  expect(parseHeader(await avifSequence({ frames: COLOURS }))?.size).toEqual({ width: 16, height: 8 });
});

test('frames that build on too many are refused, unless there are key frames between them, or one is enough', async () => {
  const frames = new Array<(typeof COLOURS)[0]>(500).fill(COLOURS[0]);
  const sized = { frames, size: [100, 52] } as const;
  const long = await avifSequence({ ...sized, keys: [1] });
  await expect(bench.convert(long)).rejects.toMatchObject({
    code: 'image_limit',
    message: expect.stringMatching(/500 frames .* build on each other/),
  });
  await expect(bench.convert(long, { format: 'jpeg' })).resolves.toMatchObject({ frames: 1 });
  const masked = await avifSequence({ ...sized, opacity: new Array(500).fill(128), maskKeys: [1] });
  await expect(bench.convert(masked)).rejects.toMatchObject({ code: 'image_limit' });
  const keys = Array.from({ length: 50 }, (_, index) => index * 10 + 1);
  await expect(bench.convert(await avifSequence({ ...sized, keys }))).resolves.toMatchObject({ width: 100 });
});

test.each([
  ['more samples than the limit allows', { count: 4_000_000_000 }, 'image_limit'],
  ['more samples than its tables list', { count: 9 }, 'undecodable_image'],
  ['samples that are empty', { sizes: [0, 0, 0] }, 'undecodable_image'],
  ['frames of a smaller size', { told: [8, 4] as const }, 'undecodable_image'],
  ['samples beyond its end', { sizes: [200, 200, 1_000_000] }, 'undecodable_image'],
  ['frames of another size', { told: [20, 10] as const }, 'undecodable_image'],
  [
    'samples that are larger than it together',
    { frames: Array(9).fill(COLOURS).flat(), overlapping: true },
    'undecodable_image',
  ],
  ['no samples', { count: 0 }, 'undecodable_image'],
  ['delays for fewer frames', { delays: [100] }, 'undecodable_image'],
])('an animated AVIF with %s is refused', async (_, fault, code) => {
  const broken = await avifSequence({ frames: COLOURS, ...fault });
  await expect(bench.convert(broken)).rejects.toMatchObject({ code });
});
