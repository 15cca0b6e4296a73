import { expect, test } from 'bun:test';
import decodeQR from 'qr/decode.js';
import sharp from 'sharp';
import { qrBlocks, qrSvg } from '../../src/lib/qr-code.ts';

const TEXTS = [
  'http://192.168.1.23:3000/',
  'https://pics.example/i/aB3dE5fG7hJ9.webp?v=1&name=grüße',
  `https://pics.example/${'a'.repeat(300)}`,
];

test.each(TEXTS)('%s is read from the image', async (text) => {
  const { data, info } = await sharp(Buffer.from(qrSvg(text)), { density: 72 * 6 })
    .flatten()
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect(decodeQR({ data, width: info.width, height: info.height })).toBe(text);
});

test.each(TEXTS)('%s is read from the blocks of a terminal', (text) => {
  expect(decodeQR(drawn(qrBlocks(text)))).toBe(text);
});

/** What a dark terminal shows, eight pixels to a module. */
function drawn(blocks: readonly string[]) {
  const scale = 8;
  const rows = blocks.flatMap((line) => [
    [...line].map((one) => '█▀'.includes(one)),
    [...line].map((one) => '█▄'.includes(one)),
  ]);
  const size = (rows[0]?.length ?? 0) * scale;
  const height = rows.length * scale;
  const data = new Uint8Array(size * height * 4).fill(255);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < size; x++) {
      const light = rows[Math.floor(y / scale)]?.[Math.floor(x / scale)];
      data.fill(light ? 255 : 0, (y * size + x) * 4, (y * size + x) * 4 + 3);
    }
  }
  return { data, width: size, height };
}
