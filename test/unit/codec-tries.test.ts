import { afterAll, expect, spyOn, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { convert } from '../../src/codec/convert/convert.ts';
import * as apngWriter from '../../src/codec/decoders/apng-write.ts';
import { type ApngPart, apng } from '../support/images/apng-files.ts';
import { sharedFolder } from '../support/shared.ts';

const scratch = await sharedFolder();
const whole = spyOn(sharp.prototype, 'png');
const frames = spyOn(apngWriter, 'writeApng');
afterAll(() => {
  whole.mockRestore();
  frames.mockRestore();
  // A conversion closes them for its whole process.
  sharp.unblock({ operation: ['VipsForeignLoad'] });
});

/** Returns how many times a PNG was encoded, and how many times as large it became. */
async function encodingsOf(file: Buffer, maxWidth = 4096): Promise<[times: number, growth: number]> {
  const [input, output] = [join(scratch, 'in'), join(scratch, 'out')];
  await writeFile(input, file);
  const before = whole.mock.calls.length + frames.mock.calls.length;
  const job = { input, output, format: 'auto', stripExif: true, maxWidth } as const;
  const { size } = await convert(job, { maxPixels: 1e8, maxFrames: 500, heic: true });
  return [whole.mock.calls.length + frames.mock.calls.length - before, size / file.length];
}

function drawing(shade: (x: number, y: number) => number) {
  const [width, height] = [600, 450];
  const pixels = Array.from({ length: width * height }, (_, at) => shade(at % width, Math.floor(at / width)));
  return sharp(Buffer.from(pixels), { raw: { width, height, channels: 1 } });
}

const gradient = () =>
  drawing((x, y) => (2 * x + y) & 255).png({ compressionLevel: 9, adaptiveFiltering: true });
const turned = { orientation: 6 };

test('a drawing that a PNG turns by EXIF is encoded once more, with the row filters that suit it', async () => {
  const file = await gradient().withMetadata(turned).toBuffer();
  // With the usual ones, it is 63 times as large.
  expect(await encodingsOf(file)).toEqual([2, expect.closeTo(2.7, 0)]);
});

test('a PNG is not encoded once more in the same way', async () => {
  const spots = drawing((x, y) => (Math.imul(x >> 2, 40503) ^ Math.imul(y >> 1, 7919)) & 0x70);
  const inPalette = await spots
    .withMetadata(turned)
    .png({ palette: true, compressionLevel: 9, effort: 10 })
    .toBuffer();
  const corners = Array.from({ length: 40 }, (_, at): ApngPart => {
    return { colour: [5 * at, 9, 9, 255], area: at % 2 ? [0, 0, 1, 1] : [39, 19, 1, 1], dispose: 2 };
  });
  const results = [
    await encodingsOf(inPalette),
    await encodingsOf(await apng([{ colour: [9, 9, 9, 255] }, ...corners])),
    await encodingsOf(await gradient().toBuffer(), 500),
  ];
  expect(results.map(([times]) => times)).toEqual([1, 1, 2]);
  for (const [, growth] of results) expect(growth).toBeGreaterThan(1);
});
