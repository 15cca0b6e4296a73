import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { createSafeFetch } from '../../src/lib/safe-fetch.ts';
import { createSeen, keyOf } from '../../src/proxy/discovery/key.ts';
import { formatAddress } from '../../src/proxy/proxy.ts';
import { loadSources } from '../../src/proxy/sources/load.ts';
import { createSourceReader } from '../../src/proxy/sources/read.ts';
import type { Source } from '../../src/proxy/sources/source.ts';
import { endless, listening, stopperOf } from '../support/servers/listening.ts';
import { sharedFolder } from '../support/shared.ts';

const GOOD = '8.8.8.1:80\n8.8.8.2:80\n';
let server: Server;
let base: string;
const folder = await sharedFolder();

const pages: Record<string, RequestListener> = {
  '/good': (_, response) => response.end(GOOD),
  '/gzip': (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(GOOD)),
  '/raw-gzip': (_, response) => response.end(gzipSync(GOOD.repeat(1000))),
  '/bad-utf8': (_, response) =>
    response.end(
      Buffer.concat([Buffer.from([0xff, 0xc3, 10]), Buffer.from(GOOD), Buffer.from([0xe2, 0x82])]),
    ),
  '/bom': (_, response) => response.end(`\ufeff${GOOD}`),
  '/nul': (_, response) => response.end(`\0\0\0\n${GOOD}\0`),
  '/utf16': (_, response) => response.end(Buffer.from(`\ufeff${GOOD}`, 'utf16le')),
  '/utf16-big': (_, response) => response.end(Buffer.from(`\ufeff${GOOD}`, 'utf16le').swap16()),
  '/utf16-bare': (_, response) => response.end(Buffer.from(GOOD, 'utf16le')),
  '/utf16-in-bytes': async (_, response) => {
    for (const byte of Buffer.from(`\ufeff${GOOD}`, 'utf16le')) {
      await new Promise((written) => response.write(Buffer.from([byte]), written));
    }
    response.end();
  },
  '/empty': (_, response) => response.end(),
  '/arrays': (_, response) => response.end('Array\n'.repeat(1_323)),
  '/error-page': (_, response) =>
    response.end('\n<!DOCTYPE html><html><body><h1>Just a moment...</h1>{"a":[1]}</body></html>'),
  '/proxy.list': (_, response) =>
    response.end(BOTH.map((url) => `{"host":"${url.slice(7, -3)}","port":80,"type":"http"}\n`).join('')),
  '/unnamed': (_, response) => response.end(GOOD),
  '/broken': (request, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write(GOOD);
    setTimeout(() => request.socket.destroy(), 30);
  },
  '/cut': (request, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write(`${GOOD}8.8.4.4:80`);
    setTimeout(() => request.socket.destroy(), 30);
  },
  '/part': (_, response) => response.writeHead(206, { 'content-range': 'bytes 0-21/1000' }).end(GOOD),
  '/unframed': ({ headers, socket }, response) => {
    if (headers['if-none-match']) return void response.writeHead(304).end();
    socket.end(`HTTP/1.1 200 OK\r\nETag: "a"\r\nConnection: close\r\n\r\n${GOOD}`);
  },
  '/drip': (_, response) => {
    response.write(GOOD);
    const timer = setInterval(() => response.write('8.8.8.3:80\n'), 20);
    response.on('close', () => clearInterval(timer));
  },
  '/endless': (_, response) => endless(response, Buffer.from(GOOD.repeat(1_000))),
  '/loop': (_, response) => response.writeHead(301, { location: '/loop' }).end(),
};

beforeAll(async () => {
  server = createServer((request, response) => {
    const page = pages[request.url ?? ''];
    if (page) page(request, response);
    else response.writeHead(404).end(GOOD);
  });
  base = `http://127.0.0.1:${await listening(server)}`;
});

afterAll(() => stopperOf(server)());

const fetch = createSafeFetch({ allowPrivate: true });
const reader = createSourceReader({ fetch, allowPrivate: false, maxBytes: 1_000_000, timeoutMs: 30_000 });

async function read(url: string, source: Partial<Source> = {}, readSource = reader, signal?: AbortSignal) {
  const taken: string[] = [];
  const report = await readSource(
    { name: 'test', url, format: 'lines', protocol: 'http', ...source },
    {
      signal: signal ?? new AbortController().signal,
      onCandidate: (protocol, ip, port) => {
        taken.push(`${protocol}://${formatAddress({ ip, port })}`);
      },
    },
  );
  return { taken, ...report };
}

const BOTH = ['http://8.8.8.1:80', 'http://8.8.8.2:80'];

describe('a list that has not changed', () => {
  const VALIDATORS = { etag: 'W/"v1"', 'last-modified': 'Sat, 21 Nov 2026 08:00:00 GMT' };
  const NAMED = `8.8.8.1:80\nsocks5://8.8.8.2:1080 DE\n[2606:4700::1]:80 FR\nno proxy\n`;

  /** A server of one list that tells which conditions it was asked under. */
  async function serving(validators: Record<string, string>, body: () => string, status = () => 0) {
    const asked: (string | null)[] = [];
    const host = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch({ headers }) {
        asked.push(headers.get('if-none-match') ?? headers.get('if-modified-since'));
        const same =
          'etag' in validators ? headers.get('if-none-match') === validators.etag : asked.at(-1) !== null;
        if (status() !== 0) return new Response(null, { status: status() });
        return same ? new Response(null, { status: 304 }) : new Response(body(), { headers: validators });
      },
    });
    return { url: `http://127.0.0.1:${host.port}/list`, asked, stop: () => host.stop(true) };
  }

  test.each([
    ['by its ETag', { etag: VALIDATORS.etag }, VALIDATORS.etag],
    ['by its date', { 'last-modified': VALIDATORS['last-modified'] }, VALIDATORS['last-modified']],
  ])('is not sent again for a day, %s, and gives the same entries', async (_, validators, condition) => {
    const list = await serving(validators, () => NAMED);
    const remembering = createSourceReader({ fetch, allowPrivate: false });
    const entries: unknown[][] = [];
    const all = () =>
      remembering(
        { name: 'a', url: list.url, format: 'lines', protocol: null },
        { signal: new AbortController().signal, onCandidate: (...entry) => void entries.push(entry) },
      );
    const first = await all();
    const again = await all();
    expect(list.asked).toEqual([null, condition]);
    expect(first).toMatchObject({ found: 3, rejected: 1, bytes: NAMED.length });
    expect(again).toEqual({ ...first, bytes: 0 });
    expect(entries.slice(3)).toEqual(entries.slice(0, 3));
    expect(entries[1]).toEqual(['socks5', '8.8.8.2', 1080, 'DE', null]);
    const later = performance.now() + 24 * 3_600_000;
    const clock = spyOn(performance, 'now').mockImplementation(() => later);
    await all();
    await all();
    clock.mockRestore();
    expect(list.asked.slice(2)).toEqual([null, condition]);
    await list.stop();
  });

  test('is requested in full if it has no validators, was truncated, has no room, or has logins', async () => {
    const plain = await serving({}, () => GOOD);
    const marked = await serving({ etag: '"v1"' }, () => GOOD);
    const own = createSourceReader({ fetch, allowPrivate: false });
    const small = createSourceReader({ fetch, allowPrivate: false, mostRemembered: 1 });
    const short = createSourceReader({ fetch, allowPrivate: false, maxBytes: 15 });
    for (let n = 0; n < 2; n++) {
      expect(await read(plain.url, {}, own)).toMatchObject({ found: 2 });
      expect(await read(marked.url, {}, small)).toMatchObject({ found: 2 });
      expect(await read(marked.url, {}, short)).toMatchObject({ found: 1, error: 'sent more than 15 B' });
      expect(await read(marked.url, { logins: true }, own)).toMatchObject({ found: 2 });
    }
    expect([...plain.asked, ...marked.asked].filter((condition) => condition !== null)).toEqual([]);
    await Promise.all([plain.stop(), marked.stop()]);
  });

  test('is read again once it has changed, and after a failure', async () => {
    const validators = { etag: '"v1"' };
    let body = GOOD;
    let status = 0;
    const list = await serving(
      validators,
      () => body,
      () => status,
    );
    const remembering = createSourceReader({ fetch, allowPrivate: false });
    const now = () => read(list.url, {}, remembering);
    await now();
    body = '8.8.8.9:80\n';
    validators.etag = '"v2"';
    expect((await now()).taken).toEqual(['http://8.8.8.9:80']);
    status = 304;
    expect((await now()).taken).toEqual(['http://8.8.8.9:80']);
    status = 500;
    expect(await now()).toMatchObject({ found: 0, error: 'answered 500', reached: false });
    status = 0;
    expect((await now()).taken).toEqual(['http://8.8.8.9:80']);
    expect(list.asked).toEqual([null, '"v1"', '"v2"', '"v2"', '"v2"']);
    status = 304;
    expect(await read(list.url, {}, reader)).toMatchObject({ found: 0, error: 'answered 304' });
    await list.stop();
  });
});

describe('a source', () => {
  test('is read whole', async () => {
    expect(await read(`${base}/good`)).toEqual({
      taken: BOTH,
      found: 2,
      rejected: 0,
      bytes: 22,
      error: null,
      reached: true,
    });
    expect(await read(`${base}/gzip`)).toMatchObject({ taken: BOTH, bytes: 22, error: null });
  });

  test('is read by its content, not by its name', async () => {
    const [source] = await loadSources(`${base}/proxy.list`, () => Promise.reject(new Error('no file')));
    expect(await read(`${base}/proxy.list`, source)).toMatchObject({ taken: BOTH, error: null });
  });

  test.each(['/bad-utf8', '/bom', '/nul', '/utf16', '/utf16-bare', '/utf16-big', '/utf16-in-bytes'])(
    'with dirt is read as far as it goes: %s',
    async (path) => {
      expect(await read(base + path)).toMatchObject({ taken: BOTH, error: null });
    },
  );

  test.each([
    ['/none', 'answered 404'],
    ['/empty', 'nothing usable in it'],
    ['/arrays', 'nothing usable in it'],
    ['/raw-gzip', 'nothing usable in it'],
    ['/error-page', 'an HTML page instead of a list'],
    ['/loop', 'redirected more than 5 times'],
  ])('without use says why: %s', async (path, error) => {
    expect(await read(base + path)).toMatchObject({ taken: [], found: 0, error });
    expect(await read(base + path, { format: 'json' })).toMatchObject({ found: 0, error });
  });

  test('whose entries have no protocol is tried with each', async () => {
    const { taken, error } = await read(`${base}/unnamed`, { protocol: null });
    expect([taken.length, taken.every((url) => url.startsWith('any://')), error]).toEqual([2, true, null]);
  });

  test('that breaks off keeps what arrived', async () => {
    const endless = await read(`${base}/endless`);
    expect(endless).toMatchObject({ bytes: 1_000_000, error: 'sent more than 1 MB', reached: true });
    expect(endless.found).toBeGreaterThan(90_000);
    const broken = await read(`${base}/broken`);
    expect(broken).toMatchObject({ taken: BOTH, reached: false });
    expect(broken.error).toStartWith('broke off');
    const hasty = createSourceReader({ fetch, allowPrivate: false, timeoutMs: 200 });
    const drip = await read(`${base}/drip`, {}, hasty);
    expect(drip.taken.slice(0, 2)).toEqual(BOTH);
    expect(drip.error).toBe('timed out after 0.2 s');
  });

  test('that cannot or must not be reached is an error and not an exception', async () => {
    expect((await read('http://127.0.0.1:1/')).error).toStartWith('could not be reached');
    const strict = createSourceReader({
      fetch: createSafeFetch({ allowPrivate: false }),
      allowPrivate: false,
    });
    expect((await read(`${base}/good`, {}, strict)).error).toBe('has an address that is not public');
  });

  test('is abandoned at once when the caller aborts', async () => {
    const controller = new AbortController();
    const reading = read(`${base}/drip`, {}, reader, controller.signal);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
  });
});

describe('a file', () => {
  test('is a source', async () => {
    const path = join(folder, 'list.txt');
    await writeFile(path, GOOD);
    expect(await read(pathToFileURL(path).href)).toMatchObject({ taken: BOTH, bytes: 22, error: null });
  });

  test('is read up to the limit', async () => {
    const path = join(folder, 'large.txt');
    await writeFile(path, GOOD.repeat(50_000));
    expect(await read(pathToFileURL(path).href)).toMatchObject({
      bytes: 1_000_000,
      error: 'has more than 1 MB',
    });
  });

  test('that is missing, a folder or a device is an error', async () => {
    for (const path of [join(folder, 'none'), folder, '/dev/zero']) {
      expect(await read(pathToFileURL(path).href)).toMatchObject({
        found: 0,
        error: 'is not a readable file',
      });
    }
  });
});

test('parsing a large list does not block other work', async () => {
  const list = Buffer.from(
    Array.from({ length: 60_000 }, (_, i) => `8.8.${i >> 8}.${i & 255}:80\n`).join(''),
  );
  async function* whole() {
    yield list;
  }
  let turns = 0;
  let done = false;
  const count = () => {
    turns++;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  const busy = createSourceReader({ fetch, readFile: whole, allowPrivate: false });
  // Each entry takes a while to handle, as it would under load.
  let found = 0;
  await busy(
    { name: 'large', url: 'file:///large', format: 'lines', protocol: 'http' },
    {
      signal: new AbortController().signal,
      onCandidate: () => {
        found++;
        for (const until = performance.now() + 0.002; performance.now() < until; );
      },
    },
  );
  done = true;
  expect(found).toBe(60_000);
  expect(turns).toBeGreaterThan(3);
});

test('an endpoint is seen once, whatever its type', () => {
  const seen = createSeen();
  expect(seen.add(keyOf('http', '8.8.8.1', 80))).toBe(true);
  expect(seen.add(keyOf('http', '8.8.8.1', 80))).toBe(false);
  expect(seen.add(keyOf('https', '8.8.8.1', 80))).toBe(true);
  expect(seen.add(keyOf('http', '8.8.8.1', 81))).toBe(true);
  expect(seen.add(keyOf('http', '255.255.255.255', 65_535))).toBe(true);
  expect(seen.add(keyOf('http', '2606:4700::1', 80))).toBe(true);
  expect(seen.add(keyOf('http', '2606:4700::1', 80))).toBe(false);
  expect(seen.size).toBe(5);
});

test('what is cut off is not an entry, and a part is not the list', async () => {
  expect(await read(`${base}/cut`)).toMatchObject({ taken: BOTH, found: 2, error: expect.any(String) });
  expect(await read(`${base}/part`)).toMatchObject({ taken: [], error: 'answered 206', reached: true });
});

test('a list that does not say where it ends is read each time, as nobody knows whether it was whole', async () => {
  const readSource = createSourceReader({ fetch, allowPrivate: false });
  for (let n = 0; n < 2; n++)
    expect(await read(`${base}/unframed`, {}, readSource)).toMatchObject({
      taken: BOTH,
      bytes: 22,
      error: null,
    });
});
