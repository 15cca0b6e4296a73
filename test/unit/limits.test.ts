import { expect, test } from 'bun:test';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { createLimits } from '../../src/http/limits.ts';
import type { RateLimiter } from '../../src/lib/rate-limiter.ts';
import { DEFAULT_RATES } from '../../src/lib/rates.ts';

const READ = { limit: 'read' } as const;
const UPLOAD = { limit: 'upload', bytes: 'upload_bytes' } as const;
const CLIENT = '192.0.2.1';

/** Limits of ten requests and 1,000 bytes, which come back within ten seconds. */
function open({ maxUploadBytes = 500, bytes = 1000 } = {}) {
  let now = 0;
  const local = createLocalRateLimiter({ now: () => now });
  const taken: unknown[][] = [];
  const limiter: RateLimiter = {
    take(...asked) {
      taken.push(asked);
      return local.take(...asked);
    },
  };
  const limits = createLimits({
    limiter,
    rates: {
      ...DEFAULT_RATES,
      read: { capacity: 10, perSecond: 1 },
      upload: { capacity: 10, perSecond: 1 },
      upload_bytes: { capacity: bytes, perSecond: 100 },
    },
    maxUploadBytes,
  });
  const post = (length: string | null) =>
    new Request('http://host/', {
      method: 'POST',
      headers: length === null ? {} : { 'content-length': length },
    });
  return {
    taken,
    countReads: limits.recount('read'),
    read: (peer = CLIENT) => limits.of(READ)(new Request('http://host/'), peer),
    upload: async (length: string | null, peer = CLIENT) => limits.of(UPLOAD)(post(length), peer),
    pass(ms: number) {
      now += ms;
    },
  };
}

test('a request counts for its client, and its response says what is left until when', async () => {
  const { read, pass } = open();
  expect(await read()).toEqual({ limit: 10, remaining: 9, reset: 1, refusal: null });
  pass(400);
  expect(await read()).toEqual({ limit: 10, remaining: 8, reset: 2, refusal: null });
  expect((await read('192.0.2.2')).remaining).toBe(9);
});

test('one request too many is refused with the limit and the time to wait', async () => {
  const { read, pass } = open();
  for (let n = 0; n < 10; n++) expect((await read()).refusal).toBeNull();
  const { refusal, ...rate } = await read();
  expect(rate).toEqual({ limit: 10, remaining: 0, reset: 10 });
  expect(refusal).toMatchObject({ code: 'rate_limited', retryAfterMs: 1000 });
  expect(refusal?.message).toBe('Too many requests of the kind "read" from your address.');
  pass(1000);
  expect((await read()).refusal).toBeNull();
});

test('a request without a body counts at once', () => {
  expect(open().read()).not.toBeInstanceOf(Promise);
});

test('the bytes of a body count as announced, or as the largest upload if the length is missing, invalid or larger', async () => {
  for (const [length, cost] of [
    ['120', 120],
    ['0', 0],
    [null, 500],
    ['501', 500],
    ['99999999999999999999', 500],
    ['1e2', 500],
    ['-5', 500],
    ['+5', 500],
  ] as const) {
    const { upload, taken } = open();
    expect(await upload(length)).toEqual({ limit: 10, remaining: 9, reset: 1, refusal: null });
    expect(taken.map(([key, , price]) => [key, price])).toEqual([
      [`upload ${CLIENT}`, undefined],
      [`upload_bytes ${CLIENT}`, cost],
    ]);
  }
});

test('a request refused by bytes still counts as a request, and one refused before costs no bytes', async () => {
  const { upload, taken } = open();
  await upload('500');
  await upload('500');
  const { refusal, ...rate } = await upload('300');
  expect(rate).toEqual({ limit: 1000, remaining: 0, reset: 10 });
  expect(refusal).toMatchObject({ code: 'rate_limited', retryAfterMs: 3000 });
  for (let n = 0; n < 7; n++) await upload('1');
  const before = taken.length;
  expect((await upload('1')).limit).toBe(10);
  expect(taken.length).toBe(before + 1);
});

test('the largest upload fits into any limit of bytes, and a larger limit stays', async () => {
  const small = open({ maxUploadBytes: 5000, bytes: 1000 });
  expect((await small.upload('5000')).refusal).toBeNull();
  expect((await small.upload('1')).limit).toBe(5000);
  const large = open({ maxUploadBytes: 10, bytes: 1000 });
  for (let n = 0; n < 9; n++) expect((await large.upload('10')).refusal).toBeNull();
});

test('a request that costs more than the limit is possible when nothing else was asked', async () => {
  const { read, countReads, pass } = open();
  for (let turn = 0; turn < 2; turn++) {
    expect((await read()).refusal).toBeNull();
    await countReads(CLIENT, 40);
    await expect(countReads(CLIENT)).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 1000 });
    pass(10_000);
  }
});

test('an asynchronous limiter is awaited', async () => {
  const limits = createLimits({
    limiter: { take: async () => ({ allowed: false, remaining: 0, retryAfterMs: 1, resetMs: 1001 }) },
    rates: DEFAULT_RATES,
    maxUploadBytes: 1,
  });
  const answer = limits.of(READ)(new Request('http://host/'), CLIENT);
  expect(answer).toBeInstanceOf(Promise);
  expect(await answer).toMatchObject({ reset: 2, refusal: { code: 'rate_limited' } });
});
