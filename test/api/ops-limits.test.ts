import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { openRecords } from '../../adapters/open.ts';
import { createTokens } from '../../src/access/tokens.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { quarters } from '../support/images/images.ts';
import { asJson, json } from '../support/json.ts';
import { PNG, withServer } from '../support/servers/running-server.ts';
import { withFolder } from '../support/temporary.ts';

const quick = (ip: string, port = 8080) => ({ ip, port, protocol: 'http' });

async function* inPieces() {
  yield PNG.subarray(0, 50);
  await new Promise(setImmediate);
  yield PNG.subarray(50);
}

describe('limits', () => {
  test('of uploads end in 429 with Retry-After and RateLimit headers', () =>
    withServer({ SERVICES: 'image', RATE_LIMITS: 'upload=2/1h' }, async ({ upload }) => {
      expect([(await upload()).status, (await upload()).status]).toEqual([201, 201]);
      const refused = await upload();
      expect(refused.status).toBe(429);
      expect(await json(refused)).toMatchObject({ success: false, code: 'rate_limited' });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1700);
      expect(refused.headers.get('ratelimit-limit')).toBe('2');
      expect(refused.headers.get('ratelimit-remaining')).toBe('0');
    }));

  test('count the bytes of uploads, whether they are announced or not', () =>
    withServer(
      { SERVICES: 'image', IMAGE_MAX_UPLOAD: '1KiB', RATE_LIMITS: 'upload_bytes=2200/1h' },
      async ({ send, upload }) => {
        expect((await upload()).status).toBe(201);
        const streamed = () => send('/api/upload', { method: 'POST', body: inPieces() });
        expect([(await streamed()).status, (await streamed()).status]).toEqual([201, 201]);
        expect((await streamed()).status).toBe(429);
      },
    ));

  test('are shared by an IPv6 /64 and not by neighbours', () =>
    withServer({ SERVICES: 'image', RATE_LIMITS: 'upload=1/1h' }, async ({ upload }) => {
      expect((await upload('', '2001:db8:0:1::1')).status).toBe(201);
      expect((await upload('', '2001:db8:0:1:ffff::2')).status).toBe(429);
      expect((await upload('', '2001:db8:0:2::1')).status).toBe(201);
    }));

  test('of conversions count for the token that an upload brings, else for its address', () =>
    withFolder(async (folder) => {
      const env = {
        SERVICES: 'image',
        METADATA_URL: `sqlite:${folder}/records.db`,
        RATE_LIMITS: 'conversion=1/1h',
      };
      await withServer(env, async ({ send }) => {
        const records = await openRecords(env.METADATA_URL, { runtime: bunRuntime });
        const tokens = createTokens({ state: records.state, random: randomBytes, now: Date.now });
        const token = await tokens
          .create({ name: 'laptop', role: 'upload', rate: null, quota: null })
          .finally(records.close);
        const authorization = `Bearer ${token}`;
        // As AVIF it is expected to cost most of a second.
        const body = new Uint8Array(await quarters(1600, 1200).png().toBuffer());
        const upload = async (from: string, headers: Record<string, string> = {}) =>
          (await send('/api/upload?format=avif', { method: 'POST', body, headers, from })).status;
        expect(await upload('198.51.100.1', { authorization })).toBe(201);
        expect(await upload('198.51.100.2', { authorization })).toBe(429);
        expect(await upload('198.51.100.1')).toBe(201);
        expect(await upload('198.51.100.1')).toBe(429);
      });
    }));

  test('of refreshes, reports and tests are counted each for itself', () =>
    withServer(
      { SERVICES: 'proxy', RATE_LIMITS: 'job=1/1h,report=1/1h,test=1/1h' },
      async ({ send, post }) => {
        const calls = [
          () => send('/api/refresh', { method: 'POST' }),
          () => post('/api/proxy/1/report', { ok: false }),
          () => post('/api/test_proxy_quick', quick('192.0.2.1')),
        ];
        for (const call of calls) expect((await call()).status).not.toBe(429);
        for (const call of calls) expect((await call()).status).toBe(429);
      },
    ));

  test('of tests count the target, for all clients and ports together', () =>
    withServer(
      { SERVICES: 'proxy', RATE_LIMITS: 'target=2/1h', PROXY_ALLOW_PRIVATE: 'true' },
      async ({ send }) => {
        const ask = (target: string, port: number, from: string) =>
          send('/api/test_proxy_quick', { ...asJson('POST', quick(target, port)), from });
        expect((await ask('127.0.0.7', 1001, '198.51.100.1')).status).toBe(503);
        expect((await ask('127.0.0.7', 1002, '198.51.100.2')).status).toBe(503);
        const third = await ask('127.0.0.7', 1003, '198.51.100.3');
        expect(third.status).toBe(429);
        expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(60);
        expect((await ask('127.0.0.8', 1003, '198.51.100.3')).status).toBe(503);
      },
    ));

  test('can be switched off', () =>
    withServer({ SERVICES: 'image', RATE_LIMITS: 'off' }, async ({ send }) => {
      expect((await send('/api/list')).headers.has('ratelimit-limit')).toBe(false);
    }));
});
