import { expect, test } from 'bun:test';
import sharp from 'sharp';
import { rgbaToThumbHash } from 'thumbhash';
import { placeholderOf } from '../../src/image/records/placeholder.ts';

const WIDTH = 60;
const HEIGHT = 40;

function hashOf(pixel: (x: number) => [number, number, number, number]): string {
  const pixels = Array.from({ length: WIDTH * HEIGHT }, (_, at) => pixel(at % WIDTH)).flat();
  return Buffer.from(rgbaToThumbHash(WIDTH, HEIGHT, new Uint8Array(pixels))).toString('base64');
}

test('a preview has nearly the proportions, and the colours, of its picture, and is small', async () => {
  const url = placeholderOf(hashOf((x) => (x < WIDTH / 2 ? [250, 20, 20, 255] : [20, 20, 250, 255]))) ?? '';
  expect(url.length).toBeLessThan(400);
  const png = sharp(Buffer.from(url.replace('data:image/png;base64,', ''), 'base64'));
  const { data, info } = await png.raw().toBuffer({ resolveWithObject: true });
  expect([info.width, info.height]).toEqual([8, 6]);
  const [red = 0, , blue = 0] = data;
  expect(red).toBeGreaterThan(blue + 100);
});

test('a picture without a hash, or one that can be seen through, has none', () => {
  expect(placeholderOf(null)).toBeNull();
  expect(placeholderOf(hashOf((x) => [200, 200, 200, x < WIDTH / 2 ? 0 : 255]))).toBeNull();
});
