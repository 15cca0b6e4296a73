import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { openRecords } from '../../adapters/open.ts';
import { createTokens } from '../../src/access/tokens.ts';
import { createUrlFetcher } from '../../src/image/upload/from-url.ts';
import type { Bucket } from '../../src/lib/rate-limiter.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { ADMIN, ADMIN_TOKEN } from '../support/admin.ts';
import { icon } from '../support/images/bitmap-files.ts';
import { json } from '../support/json.ts';
import { PNG, type RunningServer, runServer, withServer } from '../support/servers/running-server.ts';
import { withFolder } from '../support/temporary.ts';

/** Pieces that an endless answer has sent, and what to call when its reader has gone. */
let sent = 0;
let gone = Promise.withResolvers<void>();

/** Compressed pieces that inflate to nothing. */
const NOTHING = Buffer.alloc(65_535, Buffer.from([0, 0, 0, 255, 255]));

function endless(response: Parameters<RequestListener>[1], piece: Buffer): void {
  const write = () => {
    while (!response.destroyed && response.write(piece)) sent++;
  };
  response.on('drain', write).on('close', () => gone.resolve());
  write();
}

const PAGES: Record<string, RequestListener> = {
  '/sea%20side.png': (_, response) => response.writeHead(200, { 'content-type': 'image/png' }).end(PNG),
  '/untyped': (_, response) => response.end(PNG),
  '/once': (_, response) => {
    delete PAGES['/once'];
    response.end(PNG);
  },
  '/moved': (_, response) => response.writeHead(302, { location: '/sea%20side.png' }).end(),
  '/page': (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
  '/lie': (_, response) =>
    endless(response.writeHead(200, { 'content-type': 'image/png' }), Buffer.alloc(65_536, 97)),
  '/huge': (_, response) => {
    response.writeHead(200, { 'content-type': 'image/png' }).write(PNG);
    endless(response, Buffer.alloc(65_536, 97));
  },
  '/hollow': (_, response) => {
    const headers = { 'content-type': 'image/png', 'content-encoding': 'gzip' };
    response.writeHead(200, headers).write(gzipSync('').subarray(0, 10));
    endless(response, NOTHING);
  },
  '/announced': (_, response) => response.writeHead(200, { 'content-length': '99999999' }).write(PNG),
  '/empty': (_, response) => response.end(),
  '/cut': (_, response) => {
    response.writeHead(200, { 'content-length': '5000' }).write(PNG, () => response.destroy());
  },
};

let elsewhere: Server;
let at: string;
let server: RunningServer;
beforeAll(async () => {
  elsewhere = createServer((request, response) => {
    const page = PAGES[request.url ?? ''];
    if (page) page(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  at = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  server = await runServer({
    SERVICES: 'image',
    IMAGE_FROM_URL: 'open',
    PROXY_ALLOW_PRIVATE: 'true',
    IMAGE_MAX_UPLOAD: '200KiB',
    RATE_LIMITS: 'off',
  });
});
afterAll(async () => {
  await server?.stop();
  elsewhere?.closeAllConnections();
  elsewhere?.close();
});

const REFUSED = 'The URL has an address that is not public or a port that is not for the web.';

interface Answer {
  success: boolean;
  code?: string;
  error?: string;
  details?: { field: string }[];
  filename?: string;
  format?: string;
}
const order = (body: object, to = server, headers: Record<string, string> = {}) =>
  to.post('/api/upload', body, headers);

describe('a picture is uploaded by its URL', () => {
  test('with the options of any upload, also after a redirect, and gets the name that the URL has', async () => {
    for (const path of ['/sea%20side.png', '/moved']) {
      const answer = await order({
        url: at + path,
        format: 'png',
        strip_exif: false,
        max_width: 1,
        password: null,
      });
      expect(answer.status).toBe(201);
      expect(await json<Answer>(answer)).toMatchObject({
        success: true,
        filename: 'sea side.png',
        format: 'png',
        width: 1,
        protected: false,
      });
    }
    const named = await order({ url: `${at}/untyped`, filename: 'x.png' });
    expect(await json<Answer>(named)).toMatchObject({ filename: 'x.png', format: 'webp' });
  });

  test('and the options in the URL of the request count as well', async () => {
    const answer = await server.post('/api/upload?format=gif', { url: `${at}/untyped` });
    expect(await json<Answer>(answer)).toMatchObject({ format: 'gif' });
  });

  test('and fetched once if the order comes again because its answer was lost', async () => {
    const again = () => order({ url: `${at}/once` }, server, { 'idempotency-key': 'a-key-of-this-test' });
    expect(await json(await again())).toEqual(await json(await again()));
  });

  test.each([
    ['/page', 415, 'not_an_image'],
    ['/lie', 415, 'not_an_image'],
    ['/huge', 413, 'too_large'],
    ['/announced', 413, 'too_large'],
    ['/nowhere', 400, 'invalid_parameter'],
    ['/empty', 400, 'invalid_parameter'],
    ['/cut', 400, 'invalid_parameter'],
  ])('but not from %s', async (path, status, code) => {
    const answer = await order({ url: at + path });
    expect(answer.status).toBe(status);
    const body = await json<Answer>(answer);
    expect(body).toMatchObject({ success: false, code });
    if (status === 400) expect(body.details).toMatchObject([{ field: 'url' }]);
  });

  test('and the download ends as soon as the file turns out to be too large or not a picture', async () => {
    for (const path of ['/lie', '/huge']) {
      [sent, gone] = [0, Promise.withResolvers<void>()];
      await order({ url: at + path });
      await gone.promise;
      // What fits into the buffers of both ends; the whole would never end.
      expect(sent * 65_536).toBeLessThan(64 * 2 ** 20);
    }
  });

  test.each([
    [{}, 'invalid_parameter'],
    [{ url: 'file:///etc/passwd' }, 'invalid_parameter'],
    [{ url: 'no url' }, 'invalid_parameter'],
    [{ url: `http://a.example/${'x'.repeat(2000)}` }, 'invalid_parameter'],
    [{ url: ['http://a.example/'] }, 'invalid_body'],
    [{ url: 'http://a.example/', format: 'bmp' }, 'invalid_parameter'],
    [{ url: 'http://a.example/', title: 'x'.repeat(8193) }, 'invalid_parameter'],
    [{ url: 'http://a.example/', ...Object.fromEntries([...Array(20).keys()].entries()) }, 'invalid_body'],
  ])('and an order that is wrong is refused (%#)', async (body, code) => {
    const answer = await order(body);
    expect([answer.status, (await json<Answer>(answer)).code]).toEqual([400, code]);
  });

  test('and is recognised however its bytes arrive', () =>
    withFolder(async (folder) => {
      const bytes = icon();
      async function* inPieces() {
        for (let at = 0; at < bytes.length; at += 18) yield bytes.subarray(at, at + 18);
      }
      const fetch = async (url: string) => ({
        ...{ status: 200, headers: {}, url },
        body: inPieces(),
        discard: () => {},
      });
      const fetcher = createUrlFetcher({ fetch, folder, maxBytes: 10_000 });
      const { signal } = new AbortController();
      const { size } = await fetcher.fetch('http://pictures.example/a.ico', 'client', signal, async () => {});
      expect(size).toBe(bytes.length);
    }));

  test('while a picture whose type says JSON is still a picture', async () => {
    const headers = { 'content-type': 'application/json' };
    expect((await server.send('/api/upload', { method: 'POST', body: PNG, headers })).status).toBe(201);
  });
});

describe('who may have URLs fetched', () => {
  test('is nobody unless the operator says so', () =>
    withServer({ SERVICES: 'image' }, async (off) => {
      const answer = await order({ url: `${at}/untyped` }, off);
      expect([answer.status, (await json<Answer>(answer)).code]).toEqual([403, 'forbidden']);
    }));

  test('is holders of tokens where the operator says so', () =>
    withServer(
      { SERVICES: 'image', IMAGE_FROM_URL: 'token', PROXY_ALLOW_PRIVATE: 'true', ADMIN_TOKEN },
      async (closed) => {
        expect((await order({ url: `${at}/untyped` }, closed)).status).toBe(401);
        expect((await closed.upload()).status).toBe(201);
        expect((await order({ url: `${at}/untyped` }, closed, ADMIN)).status).toBe(201);
      },
    ));

  test.each([
    ['/untyped', 201, '1KiB', '400'],
    ['/huge', 413, '200KiB', '300KiB'],
    ['/hollow', 413, '200KiB', '300KiB'],
  ])('pays for the bytes of %s as for an upload, whatever comes of them', (path, first, most, rate) =>
    withServer(
      {
        SERVICES: 'image',
        IMAGE_FROM_URL: 'open',
        PROXY_ALLOW_PRIVATE: 'true',
        RATE_LIMITS: `upload_bytes=${rate}/24h`,
        IMAGE_MAX_UPLOAD: most,
      },
      async (limited) => {
        const statuses = [];
        for (let n = 0; n < 12; n++) statuses.push((await order({ url: at + path }, limited)).status);
        expect([statuses[0], statuses.at(-1)]).toEqual([first, 429]);
      },
    ),
  );
});

/** How clients of other services order a picture from a URL. */
const ORDERS: [client: string, path: string, fields: (url: string) => Record<string, string>][] = [
  ['catbox', '/catbox/user/api.php', (url) => ({ reqtype: 'urlupload', userhash: '', url })],
  ['imgur', '/imgur/3/image', (url) => ({ image: url, type: 'url' })],
  ['0x0', '/0x0', (url) => ({ url })],
];

describe('clients of other services', () => {
  const send = (path: string, fields: Record<string, string>, to = server) => {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    return to.send(path, { method: 'POST', body });
  };
  const linkIn = (text: string) => /http:[^"\s]+\/i\/(\w+)\.\w+/.exec(text)?.[1];

  test.each(ORDERS)('have URLs fetched as %s does', async (_, path, fields) => {
    const answer = await send(path, fields(`${at}/sea%20side.png`));
    const id = linkIn(await answer.text());
    expect(answer.status).toBe(200);
    const info = await json<Answer>(await server.send(`/api/info/${id}`));
    expect(info).toMatchObject({ filename: 'sea side.png', format: 'webp' });
  });

  test.each(ORDERS)('are told as %s tells what is wrong with a URL', async (_, path, fields) => {
    const page = await send(path, fields(`${at}/page`));
    expect([page.status, await page.text()]).toEqual([
      415,
      expect.stringContaining('The URL leads to text/html, not to an image.'),
    ]);
    expect((await send(path, fields(`${at}/huge`))).status).toBe(413);
    expect((await send(path, fields(`http://a.example/${'x'.repeat(2000)}`))).status).toBeOneOf([400, 415]);
  });

  test('as form fields without parts, which imgur also accepts', async () => {
    const body = new URLSearchParams({ image: `${at}/untyped`, type: 'url' });
    const answer = await server.send('/3/image', { method: 'POST', body });
    expect([answer.status, linkIn(await answer.text())?.length]).toEqual([200, 12]);
  });

  test.each(ORDERS)('are refused as %s where the operator does not allow it', (_, path, fields) =>
    withServer({ SERVICES: 'image' }, async (off) => {
      const answer = await send(path, fields(`${at}/untyped`), off);
      expect([answer.status, await answer.text()]).toEqual([
        403,
        expect.stringContaining('This server does not fetch pictures from URLs. Send the picture itself.'),
      ]);
    }),
  );

  test('need a token where the operator asks for one, which catbox brings as userhash', () =>
    withFolder(async (folder) => {
      const env = {
        SERVICES: 'image',
        METADATA_URL: `sqlite:${folder}/records.db`,
        IMAGE_FROM_URL: 'token',
        PROXY_ALLOW_PRIVATE: 'true',
      };
      await withServer(env, async (closed) => {
        const records = await openRecords(env.METADATA_URL, { runtime: bunRuntime });
        const tokens = createTokens({ state: records.state, random: randomBytes, now: Date.now });
        const create = (name: string, quota: Bucket | null) =>
          tokens.create({ name, role: 'upload', rate: null, quota });
        const token = await create('camera', null);
        const url = `${at}/untyped`;
        const body = JSON.stringify({ url });
        // The order, and half of the picture that it names.
        const small = await create('small', { capacity: body.length + PNG.length / 2, perSecond: 0.001 });
        await records.close();
        for (const [client, path, fields] of ORDERS) {
          const statuses = [
            (await send(path, fields(url), closed)).status,
            (await send(`${path}?key=wrong`, fields(url), closed)).status,
            (await send(`${path}?key=${token}`, fields(url), closed)).status,
          ];
          expect([client, statuses]).toEqual([client, [401, 401, 200]]);
        }
        const order = { reqtype: 'urlupload', userhash: token, url };
        expect((await send('/catbox/user/api.php', order, closed)).status).toBe(200);
        const beyond = await closed.send('/api/upload', {
          method: 'POST',
          body,
          headers: {
            'content-type': 'application/json',
            'content-length': String(body.length),
            authorization: `Bearer ${small}`,
          },
        });
        expect(beyond.status).toBe(429);
      });
    }));
});

test('what is not public is not fetched by the server as it is delivered, neither from itself nor from other services', () =>
  withServer({ SERVICES: 'image', IMAGE_FROM_URL: 'open' }, async (own) => {
    for (const url of [
      `${at}/untyped`,
      `${own.url}/favicon.ico`,
      `http://localhost:${new URL(own.url).port}/`,
    ]) {
      const answer = await order({ url }, own);
      expect(await json<Answer>(answer)).toMatchObject({
        code: 'invalid_parameter',
        error: REFUSED,
      });
    }
  }));
