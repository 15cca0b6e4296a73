import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { AppError, inEnglish } from '../../src/errors.ts';
import { isGloballyRoutable } from '../../src/lib/address.ts';
import { createSafeFetch, type SafeFetchOptions, type SafeResponse } from '../../src/lib/safe-fetch.ts';
import { createCertificates } from '../support/certificates.ts';
import { endless, listening, stopperOf } from '../support/servers/listening.ts';
import { words } from '../support/words.ts';

const LIMITS = { timeoutMs: 30_000, maxBytes: 1_000_000 };
const seen: { url: string; headers: Record<string, unknown>; method: string; body: string }[] = [];
/** Called when a dripping answer has lost its reader. */
const dripEnded: (() => void)[] = [];
const upgradeEnded = Promise.withResolvers<void>();
let server: Server;
let base: string;
let other: string;

/** Answers all look-ups with the same addresses, without a network. */
const resolvesTo =
  (...addresses: string[]): LookupFunction =>
  (_name, options, callback) => {
    const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    if (options.all) callback(null, all);
    else callback(null, all[0]?.address ?? '', all[0]?.family);
  };

const pages: Record<string, RequestListener> = {
  '/hello': (_, response) => response.end('hello'),
  '/gzip': (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('inflated')),
  '/brotli': (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end('xx'),
  '/bomb': (_, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50_000_000))),
  // Blocks of deflate that inflate to nothing: only the wire shows that they do not end.
  '/empty-blocks': (_, response) => {
    const head = gzipSync('').subarray(0, 10);
    const block = Buffer.from([0, 0, 0, 0xff, 0xff]);
    response.writeHead(200, { 'content-encoding': 'gzip' }).write(head);
    endless(response, Buffer.concat(Array.from({ length: 10_000 }, () => block)));
  },
  '/endless': (_, response) => endless(response, Buffer.alloc(65_536, 97)),
  '/drip': (_, response) => {
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => {
      clearInterval(timer);
      for (const resolve of dripEnded.splice(0)) resolve();
    });
  },
  '/silent': () => {},
  '/interim': (_, { socket }) => socket?.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(17)),
  '/upgrade': (_, { socket }) => {
    socket?.on('close', () => upgradeEnded.resolve());
    socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n');
  },
  '/reset': (request, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('abc');
    setTimeout(() => request.socket.destroy(), 30);
  },
  '/cut-gzip': (_, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(1000)).subarray(0, 15)),
  '/loop': (_, response) => response.writeHead(302, { location: '/loop' }).end(),
  '/next': (_, response) => response.writeHead(302, { location: '/hello' }).end(),
  '/away': (_, response) => response.writeHead(302, { location: `${other}/hello` }).end(),
  '/to': (request, response) => {
    const location = new URL(request.url ?? '', 'http://x').searchParams.get('url') ?? '';
    response.writeHead(302, { location }).end();
  },
};

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const { url = '', headers, method = '' } = request;
      seen.push({ url, headers, method, body });
      const page = pages[url.split('?')[0] ?? ''];
      if (page) page(request, response);
      else response.writeHead(404).end('no such page');
    });
  });
  const port = await listening(server, '0.0.0.0');
  base = `http://127.0.0.1:${port}`;
  other = `http://127.0.0.2:${port}`;
});

afterAll(() => stopperOf(server)());

const open = createSafeFetch({ allowPrivate: true });

async function text(response: SafeResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Reads to the end or to the fault; answers how much came and which fault it was. */
async function drain(url: string, options: Partial<SafeFetchOptions> = {}, fetch = open) {
  let bytes = 0;
  try {
    const response = await fetch(url, { ...LIMITS, ...options });
    for await (const chunk of response.body) bytes += chunk.length;
    return { bytes, kind: null, message: '' };
  } catch (error) {
    const { kind, message } = error as { kind: string; message: string };
    return { bytes, kind, message };
  }
}

describe('a body', () => {
  test('comes with its status and headers', async () => {
    const response = await open(`${base}/hello`, LIMITS);
    expect(response.status).toBe(200);
    expect(await text(response)).toBe('hello');
    expect((await open(`${base}/none`, LIMITS)).status).toBe(404);
  });

  test('sent as gzip is inflated', async () => {
    expect(await text(await open(`${base}/gzip`, LIMITS))).toBe('inflated');
  });

  test('in an encoding that was not requested is refused', async () => {
    expect(await drain(`${base}/brotli`)).toMatchObject({ kind: 'broken' });
  });

  test('that never ends is cut off at the limit', async () => {
    expect(await drain(`${base}/endless`)).toEqual({
      bytes: 1_000_000,
      kind: 'too_large',
      message: 'sent more than 1 MB',
    });
  });

  test('that inflates beyond the limit is cut off there', async () => {
    expect(await drain(`${base}/bomb`)).toMatchObject({ bytes: 1_000_000, kind: 'too_large' });
  });

  test('of empty deflate blocks is cut off by its compressed size', async () => {
    expect(await drain(`${base}/empty-blocks`)).toMatchObject({ bytes: 0, kind: 'too_large' });
  });

  test('of empty deflate blocks ends with the error of what counts its compressed bytes', async () => {
    const usedUp = new AppError('rate_limited', inEnglish('used up'));
    let counted = 0;
    const onCompressed = async (bytes: number) => {
      counted += bytes;
      if (counted > 100_000) throw usedUp;
    };
    await expect(text(await open(`${base}/empty-blocks`, { ...LIMITS, onCompressed }))).rejects.toBe(usedUp);
    expect(counted).toBeLessThan(1_000_000);
  });

  test('that drips is cut off at the deadline', async () => {
    const { kind, message } = await drain(`${base}/drip`, { timeoutMs: 200 });
    expect({ kind, message }).toEqual({ kind: 'timeout', message: 'timed out after 0.2 s' });
  });

  test('behind many interim responses is not waited for', async () => {
    expect(await drain(`${base}/interim`, { timeoutMs: 2000 })).toMatchObject({ kind: 'broken' });
  });

  test('in another protocol is not waited for, and its connection is closed', async () => {
    expect(await drain(`${base}/upgrade`)).toMatchObject({ kind: 'broken' });
    await upgradeEnded.promise;
  });

  test('that never begins is cut off at the deadline', async () => {
    expect(await drain(`${base}/silent`, { timeoutMs: 100 })).toMatchObject({ kind: 'timeout' });
  });

  test('whose connection breaks still delivers what arrived before', async () => {
    expect(await drain(`${base}/reset`)).toMatchObject({ bytes: 3, kind: 'broken' });
    expect(await drain(`${base}/cut-gzip`)).toMatchObject({ kind: 'broken' });
  });

  test('that is not read is closed at the deadline', async () => {
    const response = await open(`${base}/drip`, { ...LIMITS, timeoutMs: 700 });
    await new Promise<void>((resolve) => dripEnded.push(resolve));
    await expect(text(response)).rejects.toMatchObject({ kind: 'timeout' });
  });

  test('ends with the reason of the abort', async () => {
    const controller = new AbortController();
    const reason = new Error('shutting down');
    const response = await open(`${base}/drip`, { ...LIMITS, signal: controller.signal });
    const reading = text(response);
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await expect(open(`${base}/hello`, { ...LIMITS, signal: controller.signal })).rejects.toBe(reason);
  });
});

describe('an address that is not public', () => {
  const closed = createSafeFetch({ allowPrivate: false });

  test.each(words`
    http://127.0.0.1/ http://2130706433/ http://0x7f.1/ http://0177.0.0.1/ http://127.0.0.1./
    http://[::1]/ http://[::ffff:127.0.0.1]/ http://[::ffff:8.8.8.8]/
    http://169.254.169.254/latest/meta-data/ https://10.0.0.1/ http://１２７.0.0.1/
  `)('is refused as %s', async (url) => {
    expect(await drain(url, {}, closed)).toMatchObject({ kind: 'forbidden_address' });
  });

  test('is refused behind a name, even as one of several', async () => {
    for (const addresses of [['127.0.0.1'], ['1.1.1.1', '10.0.0.1'], ['::ffff:1.1.1.1'], ['fe80::1']]) {
      const fetch = createSafeFetch({ allowPrivate: false, lookup: resolvesTo(...addresses) });
      expect(await drain('http://lists.example/', {}, fetch)).toMatchObject({ kind: 'forbidden_address' });
    }
  });

  // To be reached at all, the server's own address is let through; every other one is judged as always.
  const permits = (address: string) => address === '127.0.0.1' || isGloballyRoutable(address);

  test('is refused when a name changes between check and connection', async () => {
    let asked = 0;
    const lookup: LookupFunction = (name, options, callback) =>
      resolvesTo(asked++ === 0 ? '127.0.0.1' : '127.0.0.2')(name, options, callback);
    const fetch = createSafeFetch({ allowPrivate: false, permits, lookup });
    const url = `${base.replace('127.0.0.1', 'rebind.example')}/hello`;
    expect(await drain(url, {}, fetch)).toMatchObject({ bytes: 5, kind: null });
    expect(asked).toBe(1);
    const before = seen.length;
    expect(await drain(url, {}, fetch)).toMatchObject({ kind: 'forbidden_address' });
    expect(seen.length).toBe(before);
  });

  test.each([
    ['http://169.254.169.254/latest/meta-data/', 'forbidden_address'],
    ['//10.0.0.1/', 'forbidden_address'],
    ['http://127.0.0.2/', 'forbidden_address'],
    ['http://0x7f000002/', 'forbidden_address'],
    ['http://[::1]/', 'forbidden_address'],
    ['http://private.example/', 'forbidden_address'],
    ['file:///etc/passwd', 'bad_url'],
    ['ftp://lists.example/x', 'bad_url'],
    ['data:text/plain,1.1.1.1:80', 'bad_url'],
  ])('is refused as the target of a redirect: %s', async (target, kind) => {
    const lookup = resolvesTo('192.168.1.1');
    const fetch = createSafeFetch({ allowPrivate: false, permits, lookup });
    expect(await drain(`${base}/to?url=${encodeURIComponent(target)}`, {}, fetch)).toMatchObject({ kind });
  });
});

test('the certificate must match the name in the URL, not its address', async () => {
  const { ca, good, wrongHost, selfSigned } = await createCertificates();
  const lookup = resolvesTo('127.0.0.1');
  const fetch = createSafeFetch({ allowPrivate: true, lookup, ca });
  for (const [pair, kind] of [
    [good, null],
    [wrongHost, 'unreachable'],
    [selfSigned, 'unreachable'],
  ] as const) {
    const secure = createSecureServer(pair, (_, response) => response.end('hello'));
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    const url = `https://judge.test:${(secure.address() as AddressInfo).port}/`;
    expect(await drain(url, {}, fetch)).toMatchObject({ bytes: kind ? 0 : 5, kind });
    secure.close();
  }
});

test('an unresolved name fails at the deadline', async () => {
  const fetch = createSafeFetch({ allowPrivate: true, lookup: () => {} });
  expect(await drain('http://slow.example/', { timeoutMs: 100 }, fetch)).toMatchObject({ kind: 'timeout' });
});

test('a name without an address or with a failed lookup is unreachable', async () => {
  const empty = createSafeFetch({ allowPrivate: true, lookup: resolvesTo() });
  expect(await drain('http://empty.example/', {}, empty)).toMatchObject({ kind: 'unreachable' });
  const lookup: LookupFunction = (_name, _options, callback) =>
    callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
  const faulty = createSafeFetch({ allowPrivate: true, lookup });
  expect(await drain('http://none.example/', {}, faulty)).toMatchObject({
    kind: 'unreachable',
    message: 'could not be reached (ENOTFOUND)',
  });
});

describe('a redirect', () => {
  test('is followed at most five times', async () => {
    expect(await drain(`${base}/loop`)).toMatchObject({
      kind: 'redirects',
      message: 'redirected more than 5 times',
    });
    const response = await open(`${base}/next`, LIMITS);
    expect(response.url).toBe(`${base}/hello`);
    response.discard();
  });

  test('to another origin drops headers and credentials', async () => {
    const from = base.replace('http://', 'http://user:secret@');
    seen.length = 0;
    await drain(`${from}/away`, { headers: { authorization: 'Bearer x', cookie: 'a=b', 'x-key': 'k' } });
    expect(seen[0]?.headers.cookie).toBe('a=b');
    expect(seen[1]?.url).toBe('/hello');
    for (const name of ['authorization', 'cookie', 'x-key']) expect(seen[1]?.headers[name]).toBeUndefined();
  });

  test('of a POST is returned as the response', async () => {
    seen.length = 0;
    const headers = { 'content-type': 'application/json' };
    const response = await open(`${base}/next`, { ...LIMITS, headers, body: '{"a":1}' });
    expect(response.status).toBe(302);
    response.discard();
    expect(seen).toMatchObject([{ method: 'POST', body: '{"a":1}' }]);
  });
});

test('a host that refuses connections is unreachable, and other schemes are invalid', async () => {
  expect(await drain('http://127.0.0.1:1/')).toMatchObject({ kind: 'unreachable' });
  for (const url of ['file:///etc/passwd', 'ftp://1.1.1.1/', 'nonsense', '//1.1.1.1/', 'javascript:1']) {
    expect(await drain(url)).toMatchObject({ kind: 'bad_url' });
  }
});
