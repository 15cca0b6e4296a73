import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { quarters } from '../support/images/images.ts';
import { asJson, json } from '../support/json.ts';
import { PNG, type RunningServer, runServer, withServer } from '../support/servers/running-server.ts';
import { shared } from '../support/shared.ts';
import { words } from '../support/words.ts';

const server = shared(() =>
  runServer({
    CORS_ORIGINS: 'https://app.example',
    PUBLIC_URL: 'https://img.example',
    ADMIN_TOKEN: 'the-token-of-the-administrator',
  }),
);

const from = (origin: string) => ({ headers: { origin } });
const preflight = (origin: string) => ({
  method: 'OPTIONS',
  headers: { origin, 'access-control-request-method': 'DELETE' },
});

describe('other origins', () => {
  test('that are named may read answers and ask before they write', async () => {
    const answer = await server.send('/api/list', from('https://app.example'));
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    expect(answer.headers.get('vary')).toContain('Origin');
    const asked = await server.send('/api/delete/x', preflight('https://app.example'));
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-methods')).toContain('DELETE');
  });

  test('may send the headers that the JavaScript client sends, also when its events go on, and ask whether an answer has changed', async () => {
    const { headers } = await server.send('/api/refresh/events', preflight('https://app.example'));
    const allowed = headers.get('access-control-allow-headers')?.toLowerCase().split(/, ?/);
    for (const name of [
      'authorization',
      'content-type',
      'x-image-password',
      'x-delete-token',
      'last-event-id',
      'if-none-match',
    ])
      expect(allowed).toContain(name);
  });

  test('that are named can also read kept answers', async () => {
    for (let turn = 0; turn < 3; turn++) {
      const { headers } = await server.send('/api/v1/proxies', from('https://app.example'));
      expect(headers.get('access-control-allow-origin')).toBe('https://app.example');
      expect(headers.get('vary')).toBe('Origin');
    }
    const foreign = await server.send('/api/v1/proxies', from('https://evil.example'));
    expect(foreign.headers.has('access-control-allow-origin')).toBe(false);
  });

  test('that are not named cannot, nor can any if none is named', async () => {
    for (const path of ['/api/list', '/api/v1/proxies', '/nowhere']) {
      const answer = await server.send(path, from('https://evil.example'));
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    }
    expect((await server.send('/api/delete/x', preflight('https://evil.example'))).status).toBe(405);
    await withServer({ SERVICES: 'image' }, async ({ send }) => {
      const answer = await send('/api/list', from('https://app.example'));
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    });
  });

  test('cannot delete by the address of their visitor, even where they may call the API', async () => {
    const { id } = await json(await server.upload());
    for (const headers of [
      { origin: 'https://app.example' },
      { origin: 'https://evil.example' },
      // A sandboxed frame, or a form behind a redirect.
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const answer = await server.send(`/api/delete/${id}`, { method: 'DELETE', headers });
      expect(answer.status).toBe(403);
      const page = await server.send(`/i/${id}/delete`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
        body: 'token=',
      });
      expect(page.status).toBe(403);
    }
    expect((await server.send(`/api/info/${id}`)).status).toBe(200);
  });

  test('may embed pictures, and nothing else', async () => {
    const { raw_url } = await json(await server.upload());
    const path = new URL(String(raw_url)).pathname;
    for (const _ of ['from the disk', 'from memory']) {
      const picture = await server.send(path);
      await picture.arrayBuffer();
      expect(picture.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    }
    const etag = (await server.send(path)).headers.get('etag') ?? '';
    const known = await server.send(path, { headers: { 'if-none-match': etag } });
    expect(known.status).toBe(304);
    expect(known.headers.get('cross-origin-resource-policy')).not.toBe('same-origin');
    expect((await server.send('/api/list')).headers.get('cross-origin-resource-policy')).toBe('same-origin');
  });
});

describe('the file of a public image', () => {
  const STRANGER = { origin: 'https://stranger.example' };

  /** What each kind of answer lets other origins read. */
  async function allowed({ send }: RunningServer): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    const body = new Uint8Array(await quarters(400, 300).png().toBuffer());
    async function note(name: string, path: string, status: number, headers: Record<string, string> = {}) {
      const answer = await send(path, { headers: { ...STRANGER, ...headers } });
      await answer.arrayBuffer();
      expect([name, answer.status]).toEqual([name, status]);
      found[name] = answer.headers.get('access-control-allow-origin') ?? 'nobody';
      const policy = answer.headers.get('cross-origin-resource-policy');
      if (found[name] === '*') expect([null, 'cross-origin']).toContain(policy);
    }
    const stored = async (query: string) => {
      const { id, raw_url } = await json(await send(`/api/upload?${query}`, { method: 'POST', body }));
      return { id, path: new URL(String(raw_url)).pathname };
    };
    const { id, path } = await stored('');
    await note('file', path, 200);
    await note('file from memory', path, 200);
    await note('smaller version', `${path}?w=160`, 200);
    await note('part', path, 206, { range: 'bytes=0-9' });
    await note('not modified', path, 304, { 'if-none-match': '*' });
    await note('smaller version, not modified', `${path}?w=160`, 304, { 'if-none-match': '*' });
    await note('page', `/i/${id}`, 200);
    await note('api', `/api/info/${id}`, 200);
    await note('missing', '/i/AAAAAAAAAAAA.webp', 404);
    const locked = await stored('password=secret');
    await note('locked', locked.path, 401);
    await note('unlocked', locked.path, 200, { 'x-image-password': 'secret' });
    return found;
  }
  const closed = {
    page: 'nobody',
    api: 'nobody',
    missing: 'nobody',
    locked: 'nobody',
    unlocked: 'nobody',
  };
  const files = [
    'file',
    'file from memory',
    'smaller version',
    'part',
    'not modified',
    'smaller version, not modified',
  ];
  const each = (who: string) => Object.fromEntries(files.map((name) => [name, who]));

  test('may be read by scripts of every site, and nothing else may', async () => {
    expect(await allowed(server)).toEqual({ ...each('*'), ...closed });
  });

  test('may be read by none with IMAGE_CORS=off', () =>
    withServer({ SERVICES: 'image', IMAGE_CORS: 'off' }, async (plain) => {
      expect(await allowed(plain)).toEqual({ ...each('nobody'), ...closed });
    }));

  test('is read by an origin of CORS_ORIGINS under its own name, which caches tell apart', async () => {
    const { raw_url } = await json(await server.upload());
    const answer = await server.send(new URL(String(raw_url)).pathname, from('https://app.example'));
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(answer.headers.get('vary')).toContain('Origin');
  });
});

describe('a page of another site', () => {
  const foreign = [
    { origin: 'https://evil.example' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
    { origin: 'http://img.example' },
    { origin: 'https://img.example:8443' },
    { origin: 'https://img.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ] as Record<string, string>[];

  test.each(foreign.map((headers, index) => ({ headers, from: `198.51.100.${index}` })))(
    'changes nothing: $headers',
    async ({ headers, from }) => {
      for (const [method, path] of [
        ['POST', '/api/upload'],
        ['POST', '/api/cleanup'],
        ['POST', '/api/refresh'],
        ['POST', '/api/test_proxy_quick'],
        ['POST', '/api/admin/blocks'],
        ['DELETE', '/api/delete/AAAAAAAAAAAA?token=x'],
        ['POST', '/i/AAAAAAAAAAAA'],
        ['POST', '/nowhere'],
      ] as const) {
        const answer = await server.send(path, { method, headers, from, body: PNG });
        expect([path, answer.status]).toEqual([path, 403]);
        expect(await json(answer)).toMatchObject({
          code: 'forbidden',
          error: expect.stringContaining('PUBLIC_URL'),
        });
      }
      expect((await server.send('/api/list', { headers })).status).toBe(200);
    },
  );

  test('is distinguished from our own, from an allowed one, and from programs', async () => {
    for (const headers of [
      {},
      { origin: 'https://img.example', 'sec-fetch-site': 'same-origin' },
      { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
    ]) {
      const answer = await server.send('/api/upload', { method: 'POST', body: PNG, headers });
      expect([headers, answer.status]).toEqual([headers, 201]);
    }
  });

  test('may be none, where a person shares a file from the menu of the system', async () => {
    const shared = { origin: 'null', 'sec-fetch-site': 'none' };
    const hidden = { origin: 'null', 'sec-fetch-site': 'cross-site' };
    const status = async (path: string, method: string, headers: Record<string, string>) =>
      (await server.send(path, { method, headers, body: PNG })).status;
    expect(await status('/api/upload', 'POST', shared)).toBe(201);
    expect(await status('/api/upload', 'POST', hidden)).toBe(403);
    expect(await status('/api/upload', 'POST', { origin: 'null' })).toBe(403);
    expect(await status('/api/cleanup', 'POST', shared)).toBe(403);
  });

  test('is distinguished from our own by the host if PUBLIC_URL is not set, with or without TLS in front', async () => {
    await withServer({ SERVICES: 'image' }, async ({ url, send }) => {
      const upload = async (origin: string) =>
        (await send('/api/upload', { method: 'POST', body: PNG, headers: { origin } })).status;
      expect(await upload(url)).toBe(201);
      expect(await upload(url.replace('http:', 'https:'))).toBe(201);
      expect(await upload('http://127.0.0.1:1')).toBe(403);
      expect(await upload('http://')).toBe(403);
    });
  });
});

describe('the name that the server is reached at', () => {
  const uploaded = async ({ url }: RunningServer, name: string, more: string[] = []) => {
    const { hostname, port } = new URL(url);
    const lines = [
      'POST /api/upload HTTP/1.1',
      `Host: ${name}`,
      `Origin: https://${name}`,
      'Sec-Fetch-Site: same-origin',
      'Content-Length: 3',
      ...more,
    ];
    const answer = await rawRequest(hostname, Number(port), `${lines.join('\r\n')}\r\n`, 'abc');
    // The upload was reached, and refuses what is not an image.
    return { status: answer.slice(9, 12), text: answer };
  };

  test('is one that public DNS cannot have, if nothing is set', async () => {
    await withServer({ SERVICES: 'image' }, async (running) => {
      for (const name of words`
        192.168.1.5 [fd00::5]:3000 localhost:3000 nas nas.local nas.lan:8080 a.home.arpa A.Internal.
      `) {
        expect([name, (await uploaded(running, name)).status]).toEqual([name, '415']);
      }
      for (const name of [
        'rebind.example',
        'local.evil.example',
        'nas.local.evil.example',
        '10.0.0.5.evil.example',
      ]) {
        const { status, text } = await uploaded(running, name);
        expect([name, status]).toEqual([name, '403']);
        expect(text).toContain('ALLOWED_HOSTS');
      }
      const program = await rawRequest(
        new URL(running.url).hostname,
        Number(new URL(running.url).port),
        'POST /api/upload HTTP/1.1\r\nHost: img.example\r\nContent-Length: 3\r\n',
        'abc',
      );
      expect(program).toStartWith('HTTP/1.1 415');
    });
  });

  test('is PUBLIC_URL alone, and what ALLOWED_HOSTS adds', async () => {
    expect((await uploaded(server, 'img.example')).status).toBe('415');
    for (const name of ['nas.local', '192.168.1.5'])
      expect((await uploaded(server, name)).status).toBe('403');
    await withServer(
      { PUBLIC_URL: 'https://img.example', ALLOWED_HOSTS: 'nas.local, 10.0.0.5' },
      async (running) => {
        for (const name of ['img.example', 'nas.local', '10.0.0.5:3000']) {
          expect([name, (await uploaded(running, name)).status]).toEqual([name, '415']);
        }
        expect((await uploaded(running, 'nas')).status).toBe('403');
      },
    );
  });

  test('does not matter to a program that is made of pages: it may upload and change what it has uploaded, and nothing else', async () => {
    for (const origin of ['app://obsidian.md', 'chrome-extension://abcdefghijklmnop']) {
      const headers = { origin, 'sec-fetch-site': 'cross-site' };
      const stored = await server.send('/api/upload', { method: 'POST', body: PNG, headers });
      const { id, delete_token } = await json<{ id: string; delete_token: string }>(stored);
      const titled = asJson('PATCH', { title: 'Tea' }, { ...headers, 'x-delete-token': delete_token });
      expect((await server.send(`/api/image/${id}`, titled)).status).toBe(200);
      expect((await server.send('/api/cleanup', { method: 'POST', headers })).status).toBe(403);
    }
  });
});

describe('every answer', () => {
  test.each(words`
    / /api/list /api/v1/proxies /livez /metrics /docs /nowhere /i/AAAAAAAAAAAA
  `)(
    '%s tells nothing of the server, and no browser guesses its type or names where it came from',
    async (path) => {
      const { headers } = await server.send(path);
      expect(headers.has('server')).toBe(false);
      expect(headers.has('x-powered-by')).toBe(false);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.has('referrer-policy')).toBe(true);
    },
  );

  test('links to PUBLIC_URL, whatever the request calls the server', async () => {
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
    const answer = await server.send('/api/upload', { method: 'POST', body: PNG, headers });
    expect(await json(answer)).toMatchObject({
      raw_url: expect.stringMatching(/^https:\/\/img\.example\/i\//),
    });
    const { hostname, port } = new URL(server.url);
    const text = await rawRequest(
      hostname,
      Number(port),
      'GET /sharex.sxcu HTTP/1.1\r\nHost: evil.example\r\n',
    );
    expect(text).toContain('https://img.example/api/upload');
    expect(text).not.toContain('evil.example');
    const docs = await rawRequest(hostname, Number(port), 'GET /docs HTTP/1.1\r\nHost: evil.example\r\n');
    expect(docs).toContain('curl https://img.example/api/list');
    expect(docs).not.toContain('evil.example');
  });

  test.each(['x', 'a.b', 'picpool'])('comes at the host name %s, however short', async (host) => {
    const { hostname, port } = new URL(server.url);
    const text = await rawRequest(hostname, Number(port), `GET /api/list HTTP/1.1\r\nHost: ${host}\r\n`);
    expect(text).toStartWith('HTTP/1.1 200');
  });

  test('keeps the secrets of the configuration to itself', async () => {
    for (const path of ['/openapi.json', '/api/stats', '/api/status', '/metrics', '/readyz', '/']) {
      expect(await (await server.send(path)).text()).not.toContain('the-token-of-the-administrator');
    }
    expect(JSON.stringify(server.logged)).not.toContain('the-token-of-the-administrator');
  });
});

/** Sends what no HTTP client would, and answers all that comes back. */
function rawRequest(host: string, port: number, head: string, body = ''): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  const socket = connect(port, host, () => socket.write(`${head}Connection: close\r\n\r\n${body}`));
  socket.on('data', (piece) => {
    text += piece;
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(text));
  return promise;
}
