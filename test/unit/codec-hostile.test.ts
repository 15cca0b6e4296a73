import { afterAll, beforeAll, expect, test } from 'bun:test';
import process from 'node:process';
import { AppError } from '../../src/errors.ts';
import { type CodecBench, startCodec } from '../support/codec/codec.ts';
import { hostileCorpus } from '../support/images/hostile-images.ts';
import { privatePhoto } from '../support/images/images.ts';

const REFUSALS = ['not_an_image', 'undecodable_image', 'image_limit', 'conversion_timeout'];
/** `HOSTILE_FILES=500` sends more of them. */
const COUNT = Number(process.env.HOSTILE_FILES ?? 130);

let bench: CodecBench;
beforeAll(async () => {
  bench = await startCodec({
    sandbox: 'on',
    timeoutMs: 3000,
    maxPixels: 20_000_000,
    maxQueue: COUNT,
    maxClientQueue: COUNT,
    maxWaitMs: 1e12,
  });
});
afterAll(() => bench.stop());

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
