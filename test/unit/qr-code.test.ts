import { expect, test } from 'bun:test';
import decodeQR from 'qr/decode.js';
import sharp from 'sharp';
import { qrSvg } from '../../src/lib/qr-code.ts';

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
