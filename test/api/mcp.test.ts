import { afterEach, describe, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { absent } from '../support/absent.ts';
import { startJudge } from '../support/farm/judge-server.ts';
import { startTinyproxy } from '../support/farm/real-proxies.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { seedPool } from '../support/pool/seeded.ts';
import { PNG, runServer, withServer } from '../support/servers/running-server.ts';
import { shared } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';

const READ = 'the-token-of-readers';
const WRITE = 'the-token-of-writers';
const TOKENS = { MCP_READ_TOKEN: READ, MCP_WRITE_TOKEN: WRITE };

/** Of all tools, as far as they are looked at here. */
interface Answer {
  proxies: { id: number; ip: string; port: number; protocol: string; status: string }[];
  images: { id: string; filename: string }[];
  id: string;
  visibility: string;
  raw_url: string;
  delete_url: string;
  alive: boolean;
  error: string;
  success: boolean;
  next: string | null;
}

const server = shared(() => runServer(TOKENS, (folder) => seedPool(folder, Date.now())));
const open: Client[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});

/** The official client. `pin`: it speaks the protocol of that date; by default, that of 2025. */
async function connect(token: string, { url = server.url, pin = '', headers = {} } = {}): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    pin === '' ? {} : { versionNegotiation: { mode: { pin } } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}`, ...headers } },
  });
  await client.connect(transport as Parameters<Client['connect']>[0]);
  open.push(client);
  return client;
}

/** The answer of a tool; its refusal as `error`. */
async function use(client: Client, name: string, given: Record<string, unknown> = {}): Promise<Answer> {
  const result = await client.callTool({ name, arguments: given });
  const [content] = result.content;
  const text = content?.type === 'text' ? content.text : '';
  if (result.isError) return { error: text } as Answer;
  expect(JSON.parse(text)).toEqual(result.structuredContent);
  return result.structuredContent as unknown as Answer;
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name).sort();

/** A message as it goes over the wire. */
const messageOf = (body: unknown, headers: Record<string, string> = {}) => ({
  method: 'POST',
  headers: {
    authorization: `Bearer ${WRITE}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers,
  },
  body: JSON.stringify(body),
});
const post = (body: unknown, headers?: Record<string, string>) =>
  server.send('/mcp', messageOf(body, headers));
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

describe('who brings a token for agents', () => {
  test('sees the tools that it may use', async () => {
    expect(await namesOf(await connect(READ))).toEqual(['find_images', 'get_proxy']);
    expect(await namesOf(await connect(WRITE))).toEqual([
      'find_images',
      'get_proxy',
      'report_proxy',
      'test_proxy',
      'upload_image',
    ]);
  });

  test('is answered in the protocol of 2026 as in that of 2025', async () => {
    const client = await connect(WRITE, { pin: '2026-07-28' });
    expect(await namesOf(client)).toHaveLength(5);
    expect((await use(client, 'get_proxy')).proxies).toHaveLength(1);
  });

  test('gets proxies by filters', async () => {
    const client = await connect(READ);
    const { proxies } = await use(client, 'get_proxy', { count: 3, protocol: 'socks5', random: true });
    expect(proxies.map(({ protocol, status }) => [protocol, status])).toEqual(
      Array.from({ length: 3 }, () => ['socks5', 'alive']),
    );
  });

  test('reports on a proxy', async () => {
    const client = await connect(WRITE);
    const [proxy] = (await use(client, 'get_proxy')).proxies;
    const report = { id: proxy?.id, ok: false, error: 'timeout' };
    expect(await use(client, 'report_proxy', report)).toMatchObject({ success: true, id: report.id });
  });

  test.skipIf(absent('tinyproxy'))('has a proxy tested', async () => {
    const judge = await startJudge();
    const proxy = await startTinyproxy('127.0.0.1');
    const world = { PROXY_ALLOW_PRIVATE: 'true', PROXY_JUDGES: judge.url, PROXY_WITNESSES: 'none' };
    try {
      await withServer({ ...TOKENS, ...world, SERVICES: 'proxy' }, async ({ url }) => {
        const client = await connect(WRITE, { url });
        const given = { ip: '127.0.0.1', port: proxy.port };
        expect(await use(client, 'test_proxy', given)).toMatchObject({ success: true, alive: true });
      });
    } finally {
      await proxy.stop();
      await judge.stop();
    }
  });

  test('uploads a picture that is in no list, and deletes it by its link', async () => {
    const client = await connect(WRITE);
    const image = await use(client, 'upload_image', {
      image: PNG.toBase64({ alphabet: 'base64url' }),
      filename: 'chart.png',
    });
    expect(image).toMatchObject({ visibility: 'unlisted', filename: 'chart.png' });
    expect((await fetch(image.raw_url)).status).toBe(200);
    expect((await use(client, 'find_images', { text: 'chart' })).images).toEqual([]);
    const { pathname, searchParams } = new URL(image.delete_url);
    const form = new URLSearchParams({ token: searchParams.get('token') ?? '' });
    expect((await server.send(pathname, { method: 'POST', body: form })).status).toBe(200);
    expect((await fetch(image.raw_url)).status).toBe(404);
  });

  test('protects a picture with a password', async () => {
    const client = await connect(WRITE);
    const given = { image: `DATA:image/png;BASE64,${PNG.toBase64()}`, password: 'tea', max_views: 3 };
    const image = await use(client, 'upload_image', given);
    expect(image.visibility).toBe('protected');
    expect((await fetch(image.raw_url)).status).toBe(401);
  });

  test('finds public pictures, page by page', async () => {
    for (const name of ['first', 'second']) await server.upload(`filename=harbour-${name}.png`);
    const client = await connect(READ);
    const newest = await use(client, 'find_images', { text: 'HARBOUR', count: 1 });
    expect(newest.images.map(({ filename }) => filename)).toEqual(['harbour-second.png']);
    const older = await use(client, 'find_images', { text: 'HARBOUR', count: 1, cursor: newest.next });
    expect(older.images.map(({ filename }) => filename)).toEqual(['harbour-first.png']);
  });
});

test('what an agent uploads is not kept if it has left before the answer', () =>
  withServer(TOKENS, async ({ url, send, logged }) => {
    const image = (await photo(2000, 1500)).toBase64();
    const params = { name: 'upload_image', arguments: { image, format: 'avif' } };
    const leaving = new AbortController();
    const message = messageOf({ ...PING, method: 'tools/call', params });
    const answer = fetch(`${url}/mcp`, { ...message, signal: leaving.signal });
    const isAbout = (path: string) => (entry: (typeof logged)[number]) => entry.facts.path === path;
    // The response has begun, without a byte, and the picture is being converted.
    await until(() => logged.some(isAbout('/mcp')));
    leaving.abort(new Error('left'));
    expect(answer).rejects.toThrow('left');
    await until(() => logged.some(isAbout('/api/upload')));
    expect(logged.find(isAbout('/api/upload'))?.facts.status).toBe(400);
    expect(await json<object>(await send('/api/stats'))).toMatchObject({ unlisted: 0 });
  }));

describe('an agent is told what was wrong', () => {
  test('by the API, in its words', async () => {
    const client = await connect(WRITE);
    expect((await use(client, 'get_proxy', { protocol: 'gopher' })).error).toBe(
      'invalid_parameter: protocol must be one or more of http, https, socks4, socks5, separated by commas, not "gopher".',
    );
    expect((await use(client, 'report_proxy', { id: 999_999, ok: true })).error).toStartWith('not_found:');
    expect((await use(client, 'test_proxy', { ip: '192.0.2.1', port: 80 })).error).toBe(
      'invalid_parameter: 192.0.2.1:80 is not tested: the address is not public, or the port belongs to another service.',
    );
    expect((await use(client, 'test_proxy', { ip: 'proxy.example', port: 80 })).error).toBe(
      'invalid_parameter: ip must be a literal IPv4 or IPv6 address.',
    );
    expect((await use(client, 'upload_image', { image: 'AAAA' })).error).toStartWith('not_an_image:');
  });

  test('about what the API never sees', async () => {
    const client = await connect(WRITE);
    expect((await use(client, 'upload_image', { image: '!' })).error).toBe(
      'invalid_parameter: image must be Base64.',
    );
    expect((await use(client, 'upload_image')).error).toBe('invalid_parameter: Give either image or url.');
    expect((await use(client, 'upload_image', { url: 'http://img.example/x.png' })).error).toStartWith(
      'forbidden:',
    );
    expect((await use(client, 'get_proxy', { format: 'text' })).error).toStartWith(
      'invalid_parameter: There is no argument format; there are count, protocol, country,',
    );
    expect((await use(client, 'get_proxy', { count: 1000 })).error).toContain('count must be <= 50');
  });
});

describe('nobody comes in', () => {
  test('without a token, with another one, or with that of the administrator', () =>
    withServer({ ...TOKENS, ADMIN_TOKEN: 'the-administrator' }, async ({ send }) => {
      for (const authorization of ['', 'Bearer the-token-of-nobody', 'Bearer the-administrator']) {
        const answer = await send('/mcp', { method: 'POST', headers: { authorization }, body: '{}' });
        expect(answer.status).toBe(401);
        expect(await json<object>(answer)).toMatchObject({ code: 'unauthorized' });
      }
    }));

  test('from a page of another site, whatever token it has', async () => {
    const answer = await post(PING, { origin: 'https://evil.example' });
    expect(answer.status).toBe(403);
    expect((await post(PING, { origin: server.url })).status).toBe(200);
  });

  test('from a page, unless the operator lets its site in', () =>
    withServer({ ...TOKENS, CORS_ORIGINS: 'https://app.example' }, async ({ send }) => {
      const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
      const preflight = await send('/mcp', { method: 'OPTIONS', headers });
      const letThrough = preflight.headers.get('access-control-allow-headers')?.toLowerCase();
      for (const name of ['authorization', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'])
        expect(letThrough).toContain(name);
      expect((await post(PING, { origin: 'https://app.example' })).status).toBe(403);
    }));

  test('to a tool beyond the token for reading', async () => {
    const client = await connect(READ);
    const refused = client.callTool({ name: 'upload_image', arguments: { image: PNG.toBase64() } });
    expect(
      await refused.then(
        ({ isError }) => isError,
        () => true,
      ),
    ).toBe(true);
    const stats = await json<{ unlisted: number }>(await server.send('/api/stats'));
    expect(stats.unlisted).toBe(0);
  });

  test('with more than fits', async () => {
    const large = { ...PING, params: { filler: 'x'.repeat(70_000) } };
    expect((await post(large, { authorization: `Bearer ${READ}` })).status).toBe(413);
    expect((await post({ ...PING, params: { filler: 'x'.repeat(6_000_000) } })).status).toBe(413);
    expect((await post(large)).status).toBe(200);
  });

  test('without a token: there is no such path', () =>
    withServer({}, async ({ send }) => {
      expect((await send('/mcp', { method: 'POST', body: '{}' })).status).toBe(404);
    }));

  test('to a service that does not run', () =>
    withServer({ ...TOKENS, SERVICES: 'image' }, async ({ url }) => {
      expect(await namesOf(await connect(WRITE, { url }))).toEqual(['find_images', 'upload_image']);
    }));
});

describe('what an agent does is counted', () => {
  test('as if the API had been called from the same address', () =>
    withServer({ ...TOKENS, RATE_LIMITS: 'upload=1/1h' }, async ({ url, upload }) => {
      const client = await connect(WRITE, { url, headers: { 'x-forwarded-for': '203.0.113.7' } });
      const first = await use(client, 'upload_image', { image: PNG.toBase64() });
      expect(first.visibility).toBe('unlisted');
      expect((await use(client, 'upload_image', { image: PNG.toBase64() })).error).toMatch(
        /^rate_limited: .*\. Try again in \d+ s\.$/,
      );
      expect((await upload('', '203.0.113.7')).status).toBe(429);
      expect((await upload('', '203.0.113.8')).status).toBe(201);
    }));

  test('and with UPLOAD=token its token for writing is one to upload with', () =>
    withServer({ ...TOKENS, UPLOAD: 'token', IMAGE_BASE_PATH: '/pics' }, async ({ url, send }) => {
      const client = await connect(WRITE, { url });
      expect((await use(client, 'upload_image', { image: PNG.toBase64() })).visibility).toBe('unlisted');
      const direct = (token: string) =>
        send('/pics/api/upload', {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
          body: PNG,
        });
      expect((await direct(WRITE)).status).toBe(201);
      expect((await direct(READ)).status).toBe(401);
    }));
});
