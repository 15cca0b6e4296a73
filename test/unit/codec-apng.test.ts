import { describe, expect, test } from 'bun:test';
import sharp from 'sharp';
import { parseApng } from '../../src/codec/decoders/apng.ts';
import { type Result, startCodec } from '../support/codec/codec.ts';
import { apng } from '../support/images/apng-files.ts';
import { withChunk } from '../support/images/colours.ts';
import { photo } from '../support/images/images.ts';
import { shared } from '../support/shared.ts';

const bench = shared(() => startCodec({ sandbox: 'require' }));
const small = shared(() => startCodec({ maxFrames: 2, maxPixels: 1000 }));

type Colour = [number, number, number, number];
const RED: Colour = [255, 0, 0, 255];
const GREEN: Colour = [0, 255, 0, 255];
const BLUE: Colour = [0, 0, 255, 255];
const CLEAR: Colour = [0, 0, 0, 0];
const LEFT: [number, number, number, number] = [0, 0, 20, 20];

/** The pixel in the middle of the left and of the right half of each frame of a GIF or WebP. */
async function halves(picture: Buffer): Promise<number[][][]> {
  const { data, info } = await sharp(picture, { animated: true })
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const height = info.pageHeight ?? info.height;
  return Array.from({ length: info.height / height }, (_, frame) =>
    [0.25, 0.75].map((part) => {
      const at = ((frame + 0.5) * height * info.width + info.width * part) * 4;
      return [...data.subarray(at, at + 4)];
    }),
  );
}

/** An animated PNG as sharp can see it, which reads none: as the GIF that it becomes. */
async function seen(made: Result): Promise<number[][][]> {
  return halves((await bench.convert(made.bytes, { format: 'gif' })).bytes);
}

describe('an animated PNG', () => {
  test('applies the disposal of each frame', async () => {
    const file = await apng([
      { colour: RED },
      { colour: GREEN, area: LEFT, dispose: 2 },
      { colour: BLUE, area: [20, 0, 20, 20], dispose: 1 },
      { colour: BLUE, area: [0, 0, 1, 1] },
    ]);
    expect(await seen(await bench.convert(file, { format: 'auto' }))).toEqual([
      [RED, RED],
      [GREEN, RED],
      [RED, BLUE],
      [RED, CLEAR],
    ]);
  });

  test('blends transparent frames over the last one, or replaces it', async () => {
    const half: Colour = [0, 0, 255, 128];
    const file = await apng([
      { colour: RED },
      { colour: half, area: LEFT, over: true },
      { colour: half, area: LEFT },
      { colour: CLEAR, area: LEFT, over: true },
    ]);
    const made = await bench.convert(file, { format: 'auto' });
    const frames = await halves((await bench.convert(made.bytes, { format: 'webp' })).bytes);
    const mixed: Colour = [127, 0, 128, 255];
    const expected = [RED, mixed, half, half];
    for (const [index, [left = []]] of frames.entries()) {
      const differences = left.map((value, channel) => Math.abs(value - (expected[index]?.[channel] ?? 0)));
      expect(Math.max(...differences)).toBeLessThan(12);
    }
  });

  test('whose still picture is not a frame shows it in still formats', async () => {
    const file = await apng([{ colour: RED }, { colour: GREEN }], { still: true });
    expect((await seen(await bench.convert(file, { format: 'auto' }))).map(([left]) => left)).toEqual([
      RED,
      GREEN,
    ]);
    const { warnings, bytes } = await bench.convert(file, { format: 'avif' });
    expect(warnings.map(({ code }) => code)).toEqual(['frames_dropped']);
    expect((await halves(bytes))[0]?.[0]?.slice(0, 3).every((value) => value < 12)).toBe(true);
  });

  test('is scaled frame by frame, also if it plays more often than other formats can say', async () => {
    const file = await apng([{ colour: RED }, { colour: GREEN, area: LEFT }], { plays: 70_000 });
    const made = await bench.convert(file, { format: 'auto', maxWidth: 20 });
    expect(made).toMatchObject({ width: 20, height: 10, frames: 2 });
    expect((await seen(made))[1]).toEqual([GREEN, RED]);
  });

  test('keeps the first of each thing that it says of its colours', async () => {
    const gammas = [1, 2, 3].map((gamma) => Buffer.from([0, 0, 0, gamma]));
    const file = gammas.reduce((all, gamma) => withChunk(all, 'gAMA', gamma), await apng([{ colour: RED }]));
    expect(parseApng(file)?.settings).toEqual(new Map([['gAMA', Buffer.from([0, 0, 0, 3])]]));
  });

  test('of one frame shows it, and not the picture that browsers hide', async () => {
    const file = await apng([{ colour: RED }], { still: true });
    const turned = await sharp({ create: { width: 1, height: 1, channels: 3, background: 'red' } })
      .withMetadata({ orientation: 6 })
      .withExifMerge({ IFD0: { Model: 'Somebody' } })
      .png()
      .toBuffer();
    const exif = (await sharp(turned).metadata()).exif as Buffer;
    for (const [one, size] of [
      [file, [40, 20]],
      [withChunk(file, 'eXIf', exif), [20, 40]],
    ] as const) {
      const made = await bench.convert(one, { format: 'auto' });
      expect([made.width, made.height]).toEqual([...size]);
      expect(await halves(made.bytes)).toEqual([[RED, RED]]);
    }
    const kept = await bench.convert(withChunk(file, 'eXIf', exif), { format: 'png', stripExif: false });
    expect(kept).toMatchObject({ width: 20, exif: { camera: 'Somebody' } });
    const told = await sharp(kept.bytes).metadata();
    expect([told.orientation ?? 1, told.exif?.includes('Somebody')]).toEqual([1, true]);
    // Browsers show the other picture if frames are missing.
    const cut = await apng([{ colour: RED }], { still: true, announced: 2 });
    expect((await halves((await bench.convert(cut, { format: 'png' })).bytes))[0]?.[0]).toEqual([
      1, 2, 3, 255,
    ]);
  });

  test('whose last frame is damaged is kept with a warning', async () => {
    const file = await apng([{ colour: RED }, { colour: GREEN }]);
    file[file.length - 20] = 99;
    const { frames, warnings } = await bench.convert(file, { format: 'png' });
    expect([frames, warnings.map(({ code }) => code)]).toEqual([1, ['truncated']]);
  });

  test('counts with all its frames towards the limits of pixels and frames', async () => {
    const three = await apng([{ colour: RED }, { colour: GREEN }, { colour: BLUE }]);
    await expect(small.convert(three)).rejects.toMatchObject({
      code: 'image_limit',
      message: expect.stringContaining('3 frames'),
    });
    const two = await apng([{ colour: RED }, { colour: GREEN }]);
    await expect(small.convert(two)).rejects.toMatchObject({
      code: 'image_limit',
      message: expect.stringContaining('1600 in all'),
    });
  });
});

test('an animation with more colours than a palette keeps all of them as PNG', async () => {
  const pages = await Promise.all([1, 2].map((seed) => photo(64, 48, seed)));
  const moving = await sharp(await Promise.all(pages.map((page) => sharp(page).png().toBuffer())), {
    join: { animated: true },
  })
    .webp({ lossless: true, delay: [100, 100] })
    .toBuffer();
  const made = await bench.convert(moving, { format: 'png' });
  const still = await sharp(made.bytes).removeAlpha().raw().toBuffer();
  expect(still.equals(await sharp(pages[0]).raw().toBuffer())).toBe(true);
  expect(made.frames).toBe(2);
});
