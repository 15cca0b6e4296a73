import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import sharp from 'sharp';
import { type CodecBench, type Result, startCodec } from '../support/codec/codec.ts';
import { apng } from '../support/images/apng-files.ts';
import { animation, photo } from '../support/images/images.ts';

let bench: CodecBench;
beforeAll(async () => {
  bench = await startCodec({ sandbox: 'require' });
});
afterAll(() => bench.stop());

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

/** An animated PNG as sharp can see it, which reads none: as the lossless WebP that it becomes. */
async function seen(made: Result): Promise<{ frames: number[][][]; delay?: number[]; loop?: number }> {
  const webp =
    made.format === 'png' ? (await bench.convert(made.bytes, { format: 'gif' })).bytes : made.bytes;
  const { delay, loop } = await sharp(webp).metadata();
  return { frames: await halves(webp), ...(delay && { delay }), ...(loop !== undefined && { loop }) };
}

describe('an animated PNG', () => {
  test.each(['auto', 'png', 'gif', 'webp'] as const)(
    'keeps frames, delays and loops as %s',
    async (format) => {
      const file = await apng([
        { colour: RED, delay: 100 },
        { colour: GREEN, delay: 200 },
        { colour: BLUE, delay: 1500, area: LEFT },
      ]);
      const made = await bench.convert(file, { format });
      expect(made).toMatchObject({
        format: format === 'auto' ? 'png' : format,
        width: 40,
        height: 20,
        frames: 3,
        warnings: [],
      });
      const { frames, delay, loop } = await seen(made);
      expect({ delay, loop }).toEqual({ delay: [100, 200, 1500], loop: 2 });
      const near = (pixel: number[]): number[] => pixel.map((value) => (value > 127 ? 255 : 0));
      expect(frames.map((frame) => frame.map(near))).toEqual([
        [RED, RED],
        [GREEN, GREEN],
        [BLUE, GREEN],
      ]);
    },
  );

  test('applies the disposal of each frame', async () => {
    const file = await apng([
      { colour: RED },
      { colour: GREEN, area: LEFT, dispose: 2 },
      { colour: BLUE, area: [20, 0, 20, 20], dispose: 1 },
      { colour: BLUE, area: [0, 0, 1, 1] },
    ]);
    expect((await seen(await bench.convert(file, { format: 'auto' }))).frames).toEqual([
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
    const { frames } = await seen(await bench.convert(made.bytes, { format: 'webp' }));
    const mixed: Colour = [127, 0, 128, 255];
    const expected = [RED, mixed, half, half];
    for (const [index, [left = []]] of frames.entries()) {
      const differences = left.map((value, channel) => Math.abs(value - (expected[index]?.[channel] ?? 0)));
      expect(Math.max(...differences)).toBeLessThan(12);
    }
  });

  test('whose still picture is not a frame shows it in still formats', async () => {
    const file = await apng([{ colour: RED }, { colour: GREEN }], { still: true });
    expect((await seen(await bench.convert(file, { format: 'auto' }))).frames.map(([left]) => left)).toEqual([
      RED,
      GREEN,
    ]);
    const { warnings, bytes } = await bench.convert(file, { format: 'avif' });
    expect(warnings.map(({ code }) => code)).toEqual(['frames_dropped']);
    expect((await halves(bytes))[0]?.[0]?.slice(0, 3).every((value) => value < 12)).toBe(true);
  });

  test('is scaled frame by frame', async () => {
    const file = await apng([{ colour: RED }, { colour: GREEN, area: LEFT }]);
    const made = await bench.convert(file, { format: 'auto', maxWidth: 20 });
    expect(made).toMatchObject({ width: 20, height: 10, frames: 2 });
    expect((await seen(made)).frames[1]).toEqual([GREEN, RED]);
  });

  test('whose last frame is damaged is kept with a warning', async () => {
    const file = await apng([{ colour: RED }, { colour: GREEN }]);
    file[file.length - 20] = 99;
    const { frames, warnings } = await bench.convert(file, { format: 'png' });
    expect([frames, warnings.map(({ code }) => code)]).toEqual([1, ['truncated']]);
  });

  test('counts with all its frames towards the limits of pixels and frames', async () => {
    const small = await startCodec({ maxFrames: 2, maxPixels: 1000 });
    try {
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
    } finally {
      await small.stop();
    }
  });
});

describe('other animations', () => {
  test.each(['gif', 'webp'] as const)('become an animated PNG from %s', async (input) => {
    const made = await bench.convert(await animation(input), { format: 'png' });
    expect(made).toMatchObject({ format: 'png', width: 48, height: 32, frames: 3, warnings: [] });
    const { frames, delay, loop } = await seen(made);
    expect({ delay, loop }).toEqual({ delay: [100, 200, 300], loop: 2 });
    expect(
      frames.map(([[red = 0, green = 0, blue = 0] = []]) =>
        [red, green, blue].indexOf(Math.max(red, green, blue)),
      ),
    ).toEqual([0, 1, 2]);
  });

  test('with more colours than a palette keep all of them', async () => {
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
});
