import { afterAll, beforeAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { openRecords } from '../../adapters/open.ts';
import { createTokens } from '../../src/access/tokens.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { ADMIN, ADMIN_TOKEN, adminBrowser, type Fields } from '../support/admin.ts';
import { quarters } from '../support/images/images.ts';
import { type RunningServer, runServer, withServer } from '../support/servers/running-server.ts';

let server: RunningServer;
let tokens: ReturnType<typeof createTokens>;
let close: () => Promise<void>;
let moderator: string;
beforeAll(async () => {
  server = await runServer({ ADMIN_TOKEN, RATE_LIMITS: 'off', CORS_ORIGINS: 'https://friend.example' });
  [tokens, close] = await tokensOf(server);
  moderator = await tokens.create({ name: 'mod', role: 'moderator', rate: null, quota: null });
});
afterAll(async () => {
  await close();
  await server.stop();
});

async function tokensOf({ folder }: RunningServer) {
  const records = await openRecords(`sqlite:${folder}/picpool.db`, { runtime: bunRuntime });
  const { state } = records;
  return [createTokens({ state, random: randomBytes, now: Date.now }), () => records.close()] as const;
}

const browser = (at = server) => adminBrowser(at);

async function loggedIn(token: string) {
  const visitor = browser();
  expect((await visitor.login(token)).status).toBe(303);
  return visitor;
}

const upload = async (from: string) => (await (await server.upload('', from)).json()) as { id: string };
const exists = async (id: string) => (await server.send(`/api/info/${id}`)).status === 200;

test('without an administrator or moderator there is no such page', () =>
  withServer({}, async (bare) => {
    const visitor = browser(bare);
    expect((await visitor.get('/admin')).status).toBe(404);
    expect((await visitor.login('picpool_'.padEnd(51, 'x'))).status).toBe(404);
  }));

test('without the image host, the log is the first page', () =>
  withServer({ ADMIN_TOKEN, SERVICES: 'proxy' }, async (bare) => {
    const visitor = browser(bare);
    await visitor.login(ADMIN_TOKEN);
    expect((await visitor.get('/admin')).headers.get('location')).toBe('/admin/log');
    expect((await visitor.get('/admin/log')).status).toBe(200);
  }));

test('a login opens a session whose cookie no script and no other site gets', async () => {
  const visitor = browser();
  expect((await visitor.get('/admin')).status).toBe(401);
  expect((await visitor.login('wrong-token-of-somebody')).status).toBe(401);
  // The browser shows that address, where a visitor asks again, also once logged in.
  expect((await visitor.get('/admin/login')).status).toBe(401);
  const { headers } = await visitor.login(ADMIN_TOKEN);
  expect(headers.get('set-cookie')).toMatch(
    /^picpool_admin=[\w-]{43}; Path=\/admin; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  expect((await visitor.get('/admin')).status).toBe(200);
  expect((await visitor.get('/admin/login')).headers.get('location')).toBe('/admin');
  const behindTls = await visitor.post(
    '/admin/login',
    { token: ADMIN_TOKEN },
    { 'x-forwarded-proto': 'https' },
  );
  expect(behindTls.headers.get('set-cookie')).toEndWith('; SameSite=Strict; Secure');
});

test('the page of the server tells the administrator what the settings leave open', async () => {
  const page = await (await (await loggedIn(ADMIN_TOKEN)).get('/admin/server')).text();
  expect(page).toContain('Anyone who can reach the server can upload. UPLOAD=token');
});

test('guesses are limited like those of tokens, which open a session all the same', () =>
  withServer({ ADMIN_TOKEN }, async (limited) => {
    const [issuing, closeIssuing] = await tokensOf(limited);
    const issued = await issuing.create({ name: 'mod', role: 'moderator', rate: null, quota: null });
    await closeIssuing();
    const visitor = browser(limited);
    const statuses: number[] = [];
    for (let guess = 0; guess < 12; guess++)
      statuses.push((await visitor.login(`guess-number-${guess}-of-many`)).status);
    expect(statuses.slice(0, 9)).toEqual(Array(9).fill(401));
    expect(statuses.at(-1)).toBe(429);
    expect((await visitor.login(ADMIN_TOKEN)).status).toBe(429);
    expect((await visitor.login(issued)).status).toBe(303);
  }));

test('a session ends at a word, everywhere, and with its token', async () => {
  const [one, other, third] = await Promise.all([
    loggedIn(moderator),
    loggedIn(moderator),
    loggedIn(ADMIN_TOKEN),
  ]);
  const kept = one.cookie();
  const { headers } = await one.post('/admin/logout', { form: await one.form() });
  // Chromium also keeps a page that must not be stored, for its Back button.
  expect(headers.get('clear-site-data')).toBe('"cache"');
  one.use(kept);
  expect((await one.get('/admin')).status).toBe(401);
  expect((await other.get('/admin')).status).toBe(200);
  const again = await loggedIn(moderator);
  await again.post('/admin/logout', { form: await again.form(), everywhere: '1' });
  expect((await other.get('/admin')).status).toBe(401);
  expect((await third.get('/admin')).status).toBe(200);
  const brief = await tokens.create({ name: 'brief', role: 'moderator', rate: null, quota: null });
  const visitor = await loggedIn(brief);
  expect((await visitor.get('/admin')).status).toBe(200);
  await tokens.revoke('brief');
  expect((await visitor.get('/admin')).status).toBe(401);
});

test('what a session may, by its role, is told for every page', async () => {
  const [admin, mod] = [await loggedIn(ADMIN_TOKEN), await loggedIn(moderator)];
  const pages = ['', '/reviews', '/log', '/tokens', '/server'];
  const statuses = async (visitor: ReturnType<typeof browser>) =>
    Promise.all(pages.map(async (page) => (await visitor.get(`/admin${page}`)).status));
  expect(await statuses(admin)).toEqual([200, 200, 200, 200, 200]);
  expect(await statuses(mod)).toEqual([200, 200, 200, 403, 403]);
  const form = await mod.form();
  expect((await mod.post('/admin/tokens', { form, name: 'x', role: 'admin' })).status).toBe(403);
  expect((await mod.post('/admin/tokens/revoke', { form, name: 'mod' })).status).toBe(403);
  expect((await mod.get('/admin')).status).toBe(200);
});

interface Operation {
  method: string;
  path: string;
}
async function operations(): Promise<Operation[]> {
  const { paths } = (await (await server.send('/openapi.json')).json()) as { paths: Record<string, object> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method: method.toUpperCase(),
      path: path.replace(/\{\w+\}/g, 'abcdefabcdef'),
    })),
  );
}

test('a session opens nothing of the API, and a moderator only what moderators need', async () => {
  const visitor = await loggedIn(ADMIN_TOKEN);
  const status = async ({ method, path }: Operation, headers: Record<string, string>) =>
    (await server.send(path, { method, headers })).status;
  const [guarded, forModerators]: [string[], string[]] = [[], []];
  for (const one of await operations()) {
    if (one.path.includes('events') || (await status(one, {})) !== 401) continue;
    guarded.push(`${one.method} ${one.path}`);
    expect([one.path, await status(one, { cookie: visitor.cookie() })]).toEqual([one.path, 401]);
    if ((await status(one, { authorization: `Bearer ${moderator}` })) !== 401)
      forModerators.push(`${one.method} ${one.path}`);
  }
  expect(guarded.length).toBeGreaterThan(8);
  expect(forModerators.sort()).toEqual([
    'DELETE /api/admin/blocks',
    'GET /api/admin/blocks',
    'GET /api/admin/images',
    'GET /api/admin/log',
    'GET /api/admin/reports',
    'GET /api/admin/reviews',
    'GET /api/admin/reviews/abcdefabcdef',
    'POST /api/admin/blocks',
    'POST /api/admin/reports',
    'POST /api/admin/reviews',
  ]);
});

test('forged and expired cookies open nothing', async () => {
  const visitor = await loggedIn(ADMIN_TOKEN);
  const good = visitor.cookie();
  const forged = [
    `picpool_admin=${'A'.repeat(43)}`,
    `picpool_admin=${ADMIN_TOKEN}`,
    good.slice(0, -1),
    `${good}A`,
    good.replace('picpool_admin', 'x_picpool_admin'),
    good.replace('=', '=="'),
    'picpool_admin=',
  ];
  for (const cookie of forged) {
    visitor.use(cookie);
    expect([cookie, (await visitor.get('/admin')).status]).toEqual([cookie, 401]);
  }
});

test('no other page makes the browser of an administrator write', async () => {
  const visitor = await loggedIn(ADMIN_TOKEN);
  const form = await visitor.form();
  const { id } = await upload('192.0.2.60');
  const fields = { form, id, block: 'file', reason: 'spam' };
  const origins = [
    'https://evil.example',
    'https://friend.example',
    'null',
    server.url.replace('http', 'https').replace(/\d+$/, '1'),
    `${server.url}.evil.example`,
    server.url.replace('127.0.0.1', 'evil.example'),
    'app://obsidian.md',
    'chrome-extension://abc',
    'file://',
    '',
  ];
  const attempts: [string, Fields, Record<string, string>][] = [
    ...origins.map((origin): [string, Fields, Record<string, string>] => [
      `Origin ${origin}`,
      fields,
      { origin },
    ]),
    ['cross-site', fields, { 'sec-fetch-site': 'cross-site' }],
    ['same-site', fields, { 'sec-fetch-site': 'same-site' }],
    ['no form', { id, block: 'file' }, {}],
    ['empty form', { ...fields, form: '' }, {}],
    ['wrong form', { ...fields, form: form.replace(/^./, (one) => (one === '0' ? '1' : '0')) }, {}],
    ['text', fields, { 'content-type': 'text/plain' }],
    ['JSON', fields, { 'content-type': 'application/json' }],
    ['multipart', fields, { 'content-type': 'multipart/form-data; boundary=x' }],
    ['form of another session', { ...fields, form: await (await loggedIn(ADMIN_TOKEN)).form() }, {}],
    ['no cookie', fields, { cookie: '' }],
    ['method in a field', { ...fields, form: '', _method: 'DELETE' }, {}],
  ];
  expect(attempts.length).toBeGreaterThanOrEqual(20);
  for (const [name, body, headers] of attempts) {
    for (const path of ['/admin/act', '/admin/tokens', '/admin/reviews', '/admin/logout']) {
      const { status } = await visitor.post(path, { ...body, name: 'stolen', role: 'admin' }, headers);
      expect([name, path, status >= 400]).toEqual([name, path, true]);
    }
  }
  expect((await visitor.get(`/admin/act?form=${form}&id=${id}`)).status).toBe(405);
  expect(await exists(id)).toBe(true);
  expect((await tokens.list()).map(({ name }) => name)).not.toContain('stolen');
  const blocks = (await (await server.send('/api/admin/blocks', { headers: ADMIN })).json()) as {
    hashes: object[];
  };
  expect(blocks.hashes).toEqual([]);
  expect((await visitor.post('/admin/act', fields)).headers.get('location')).toBe('/admin?done=1');
  expect(await exists(id)).toBe(false);
});

test('pictures of a network are deleted, the network is blocked, and each act is in the log, page after page', async () => {
  const visitor = await loggedIn(moderator);
  // The file has been blocked by the test before.
  const { hashes } = (await (await server.send('/api/admin/blocks', { headers: ADMIN })).json()) as {
    hashes: { hash: string }[];
  };
  for (const { hash } of hashes)
    await server.send(`/api/admin/blocks?hash=${hash}`, { method: 'DELETE', headers: ADMIN });
  const ids = await Promise.all([1, 2, 3].map(async (last) => (await upload(`203.0.113.${last}`)).id));
  const other = await upload('198.51.100.9');
  const form = await visitor.form();
  const acted = { form, id: ids, block: 'network', reason: 'spam', statement: '' };
  expect((await visitor.post('/admin/act', acted)).headers.get('location')).toBe('/admin?done=3');
  expect(await Promise.all([...ids, other.id].map(exists))).toEqual([false, false, false, true]);
  expect((await server.upload('', '203.0.113.200')).status).toBe(403);
  const log = await (await server.send('/api/admin/log?limit=4', { headers: ADMIN })).text();
  expect(log.match(/"who":"mod".*"why":"spam"/g)).toHaveLength(4);
  for (let number = 0; number < 100; number++)
    await server.post('/api/admin/blocks', { hash: 'b'.repeat(64) }, ADMIN);
  const all = await (await server.send('/api/admin/log?limit=1000', { headers: ADMIN })).text();
  const seen: string[] = [];
  for (let path: string | undefined = '/admin/log'; path !== undefined; ) {
    const shown = await (await visitor.get(path)).text();
    seen.push(...(shown.match(/<tr><td>/g) ?? []));
    path = /rel="next" href="([^"]+)"/.exec(shown)?.[1];
  }
  expect([seen.length, seen.length > 100]).toEqual([all.trimEnd().split('\n').length, true]);
});

test('what was previewed is blocked, although somebody else has deleted the picture meanwhile', async () => {
  const visitor = await loggedIn(moderator);
  const { id } = await upload('198.18.4.1');
  const asked = { form: await visitor.form(), id, block: 'network', reason: 'spam' };
  const preview = await (await visitor.post('/admin/preview', asked)).text();
  const [, name = '', value = ''] = /name="(target \w+)" value="([^"]+)"/.exec(preview) ?? [];
  await visitor.post('/admin/act', { ...asked, block: 'none' });
  await visitor.post('/admin/act', { ...asked, [name]: 'hash forged' });
  const { headers } = await visitor.post('/admin/act', {
    ...asked,
    [name]: [value, `hash ${'0'.repeat(64)}`],
  });
  expect(headers.get('location')).toBe('/admin?done=0');
  expect(await (await visitor.get('/admin?done=0')).text()).toContain('0 pictures deleted.');
  expect(await (await visitor.get('/admin?done=abc')).text()).not.toMatch(/NaN|banner good/);
  expect((await server.upload('', '198.18.4.2')).status).toBe(403);
  const blocks = await (await server.send('/api/admin/blocks', { headers: ADMIN })).text();
  expect(blocks).not.toMatch(/forged|00000000/);
});

test('nobody blocks their own address by mistake', async () => {
  const visitor = await loggedIn(moderator);
  const [other, own] = [await upload('192.0.2.62'), await upload('127.0.0.1')];
  const fields = { form: await visitor.form(), id: [other.id, own.id], block: 'network', reason: 'spam' };
  expect((await visitor.post('/admin/act', fields)).status).toBe(409);
  expect([await exists(other.id), await exists(own.id)]).toEqual([true, true]);
  expect((await server.upload('', '192.0.2.62')).status).toBe(201);
});

test('a token is made, shown once, counted, and revoked', async () => {
  const visitor = await loggedIn(ADMIN_TOKEN);
  const form = await visitor.form();
  const made = await (await visitor.post('/admin/tokens', { form, name: 'phone', role: 'moderator' })).text();
  const token = /<code class="wrap">(picpool_[\w-]{43})<\/code>/.exec(made)?.[1] ?? '';
  expect(
    (await server.send('/api/admin/blocks', { headers: { authorization: `Bearer ${token}` } })).status,
  ).toBe(200);
  expect(await (await visitor.get('/admin/tokens')).text()).not.toContain(token);
  const refused = await visitor.post('/admin/tokens', { form, name: 'two words', role: 'upload' });
  expect(await refused.text()).toContain('A name has up to 64 letters');
  expect((await visitor.post('/admin/tokens/revoke', { form, name: 'phone' })).status).toBe(303);
  expect(
    (await server.send('/api/admin/blocks', { headers: { authorization: `Bearer ${token}` } })).status,
  ).toBe(401);
});

test('tokens are made, listed and revoked over the API, and the pictures of one are found by it', async () => {
  const create = (name: string) => server.post('/api/admin/tokens', { name, role: 'upload' }, ADMIN);
  const made = await create('tablet');
  expect(made.status).toBe(201);
  const { token } = (await made.json()) as { token: string };
  expect((await create('tablet')).status).toBe(409);
  // The last two would be parts of the path that revokes them.
  for (const name of ['two words', '.', '..']) expect((await create(name)).status).toBe(400);
  const headers = { authorization: `Bearer ${token}` };
  const body = new Uint8Array(await quarters(40, 30).png().toBuffer());
  const { id } = (await (await server.send('/api/upload', { method: 'POST', headers, body })).json()) as {
    id: string;
  };
  const other = await upload('192.0.2.77');
  expect(await (await server.send(`/api/info/${id}`)).text()).not.toContain('token');
  const visitor = await loggedIn(ADMIN_TOKEN);
  const page = await (await visitor.get('/admin/tokens')).text();
  const [, link = ''] = /href="(\/admin\?token=\w+)">tablet</.exec(page) ?? [];
  const found = await (await visitor.get(link)).text();
  expect([found.includes(id), found.includes(other.id)]).toEqual([true, false]);
  expect(await (await visitor.get('/admin')).text()).toContain(`${link}">tablet</a>`);
  const listed = (await (await server.send('/api/admin/tokens', { headers: ADMIN })).json()) as {
    tokens: { name: string }[];
  };
  expect(listed.tokens.map(({ name }) => name)).toContain('tablet');
  expect(JSON.stringify(listed)).not.toContain(token);
  const revoke = () => server.send('/api/admin/tokens/tablet', { method: 'DELETE', headers: ADMIN });
  expect([(await revoke()).status, (await revoke()).status]).toEqual([200, 404]);
  expect(await (await visitor.get(link)).text()).toContain(id);
});

test('a picture that ends with a view is shown without ending', async () => {
  const visitor = await loggedIn(moderator);
  const body = new Uint8Array(await quarters(900, 600).png().toBuffer());
  const made = await server.send('/api/upload?max_views=1', { method: 'POST', body });
  const { id } = (await made.json()) as { id: string };
  const [, shown = ''] =
    new RegExp(`src="(/admin/picture/${id}[^"]*)"`).exec(await (await visitor.get('/admin')).text()) ?? [];
  const answers = [await visitor.get(shown), await visitor.get(shown)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
});

test('what strangers wrote is only text', async () => {
  const visitor = await loggedIn(moderator);
  const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>.png';
  await server.upload(`filename=${encodeURIComponent(evil)}`, '192.0.2.99');
  for (const path of ['/admin', `/admin?from=${encodeURIComponent(evil)}`, '/admin/log', '/admin/reviews']) {
    const text = await (await visitor.get(path)).text();
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('<img src=x');
  }
});
