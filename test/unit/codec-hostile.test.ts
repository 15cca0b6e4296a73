import { expect, test } from 'bun:test';
import process from 'node:process';
import { deflateSync } from 'node:zlib';
import { AppError } from '../../src/errors.ts';
import { startCodec } from '../support/codec/codec.ts';
import { bitmap } from '../support/images/bitmap-files.ts';
import { hostileCorpus } from '../support/images/hostile-images.ts';
import { privatePhoto } from '../support/images/images.ts';
import { withSegment } from '../support/images/jpeg-files.ts';
import { tiffFile } from '../support/images/tiff-files.ts';
import { shared } from '../support/shared.ts';

const REFUSALS = ['not_an_image', 'undecodable_image', 'image_limit', 'conversion_timeout'];
/** `HOSTILE_FILES=500` sends more of them. */
const COUNT = Number(process.env.HOSTILE_FILES ?? 130);

const bench = shared(() =>
  startCodec({
    sandbox: 'on',
    timeoutMs: 3000,
    maxPixels: 20_000_000,
    maxQueue: COUNT,
    maxClientQueue: COUNT,
    maxWaitMs: 1e12,
  }),
);

test('every hostile file becomes a picture or is refused, and leaves neither files nor broken workers', async () => {
  const outcomes: Record<string, number> = {};
  await Promise.all(
    (await hostileCorpus(COUNT)).map(async ({ name, bytes }) => {
      const outcome = await bench.convert(bytes).then(
        () => 'converted',
        (error: unknown) => (error instanceof AppError ? error.code : `${name}: ${error}`),
      );
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }),
  );
  const { converted = 0, ...refused } = outcomes;
  expect(Object.keys(refused).filter((code) => !REFUSALS.includes(code))).toEqual([]);
  expect(converted).toBeGreaterThan(0);
  expect(refused.undecodable_image).toBeGreaterThan(0);
  expect((await bench.convert(await privatePhoto('jpeg'))).format).toBe('webp');
  expect(await bench.files()).toEqual([]);
});

/** A BMP whose first row never ends: 31 MiB of runs. */
function endlessRow(): Buffer {
  const file = bitmap({ depth: 8, packed: true });
  return Buffer.concat([file.subarray(0, file.readUInt32LE(10)), Buffer.alloc(31 * 2 ** 20, 255)]);
}

/** A TIFF of 64 KB, each of whose columns has a tile of a million pixels. */
function deepTiles(): Buffer {
  const [width, rows] = [6000, 2 ** 20];
  const tags = {
    ...{ 256: [width], 257: [1000], 258: [8], 259: [8], 262: [1], 277: [1], 284: [2] },
    ...{ 322: [1], 323: [rows] },
  };
  return tiffFile(tags, Array(width).fill(deflateSync(Buffer.alloc(rows))), 324);
}

/** A JPEG of 256 KB, whose hundreds of indexes name the same pictures again and again. */
async function manyIndexes(): Promise<Buffer> {
  const plain = await privatePhoto('jpeg');
  const [entries, pictures] = [Buffer.alloc(32 * 12), Buffer.alloc(32 * 16)];
  for (let at = 0; at < 32; at++) {
    entries.set([0xb0, 2, 0, 7, 0, 0, 2, 0, 0, 0, 1, 0x8e], at * 12);
    pictures.set([0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 1, at], at * 16);
  }
  const index = Buffer.concat([
    Buffer.from('MPF\0MM\0*\0\0\0\x08\0\x20', 'latin1'),
    entries,
    Buffer.alloc(4),
    pictures,
  ]);
  const whole = withSegment(plain, 0xe2, index);
  const one = whole.subarray(2, whole.length - plain.length + 2);
  return Buffer.concat([whole.subarray(0, 2), ...Array(280).fill(one), plain.subarray(2)]);
}

/** An animated AVIF of two million tracks, all of them empty. */
function emptyTracks(): Buffer {
  const head = Buffer.from('\0\0\0\x10ftypavis\0\0\0\0\x01\0\0\x08moov', 'latin1');
  return Buffer.concat([head, Buffer.alloc(2 ** 24, '\0\0\0\x08trak')]);
}

test('a picture with hundreds of indexes of others is converted before it takes seconds', async () => {
  expect((await bench.convert(await manyIndexes())).format).toBe('webp');
});

test.each([
  ['an animation of millions of tracks', emptyTracks],
  ['a bitmap whose row never ends', endlessRow],
  ['tiles of many times the pixels of their picture', deepTiles],
])('%s is refused before it takes seconds', async (_, make) => {
  await expect(bench.convert(make())).rejects.toMatchObject({ code: 'undecodable_image' });
});
