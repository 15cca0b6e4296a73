import { afterAll, beforeAll, expect, test } from 'bun:test';
import { json } from '../support/json.ts';
import { cli } from '../support/servers/cli.ts';
import { PNG } from '../support/servers/running-server.ts';
import { LIGHT, type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';

let server: ServerProcess;
beforeAll(async () => {
  const env = {
    ...LIGHT,
    UPLOAD: 'token',
    SERVICES: 'image',
    ADMIN_TOKEN: 'the-token-of-the-administrator',
    TRUSTED_PROXIES: '127.0.0.1',
  };
  server = await startServer('bun', env, folder);
}, 180_000);
afterAll(() => server?.stop());
const folder = await sharedFolder();

const picpool = (...args: string[]) => cli(['token', ...args], { env: { DATA_DIR: folder } });
const create = async (...args: string[]) => (await picpool('create', ...args)).stdout.trim();

/** Each client has an address of its own, so that the wrong tokens of one do not count for another. */
function ask(from: string, method: string, path: string, token?: string, body?: Uint8Array<ArrayBuffer>) {
  const headers = {
    'x-forwarded-for': from,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  return fetch(server.url + path, { method, headers, ...(body && { body }) });
}
const upload = (from: string, token?: string) => ask(from, 'POST', '/api/upload', token, new Uint8Array(PNG));

test('with UPLOAD=token nobody uploads but who was given a token, until it is revoked', async () => {
  const refused = await upload('198.51.100.1');
  expect([refused.status, (await json(refused)).code]).toEqual([401, 'unauthorized']);
  expect((await upload('198.51.100.1', `picpool_${'A'.repeat(43)}`)).status).toBe(401);
  const token = await create('laptop');
  const stored = await upload('198.51.100.2', token);
  expect(stored.status).toBe(201);
  // Reading stays open to everybody.
  expect((await ask('198.51.100.1', 'GET', '/api/list')).status).toBe(200);
  await picpool('revoke', 'laptop');
  await until(async () => (await upload('198.51.100.2', token)).status === 401);
});

test('a token for uploads has no rights of an administrator; a token of an administrator opens what ADMIN_TOKEN opens', async () => {
  const [uploader, admin] = [await create('phone'), await create('boss', '--role', 'admin')];
  const { id } = await json(await upload('198.51.100.3', admin));
  for (const [method, path] of [
    ['GET', '/api/admin/images'],
    ['POST', '/api/cleanup'],
  ] as const) {
    expect([path, (await ask('198.51.100.3', method, path, uploader)).status]).toEqual([path, 401]);
    expect([path, (await ask('198.51.100.3', method, path, admin)).status]).toEqual([path, 200]);
  }
  expect((await ask('203.0.113.4', 'DELETE', `/api/delete/${id}`, uploader)).status).toBe(403);
  expect((await ask('203.0.113.4', 'DELETE', `/api/delete/${id}`, admin)).status).toBe(200);
});

test('a token ends at its rate and its quota', async () => {
  const seldom = await create('seldom', '--rate', '2/1h');
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await upload('198.51.100.5', seldom)).status);
  expect(statuses).toEqual([201, 201, 429]);
  const small = await create('small', '--quota', `${PNG.length + 1}B/1h`);
  expect([
    (await upload('198.51.100.5', small)).status,
    (await upload('198.51.100.5', small)).status,
  ]).toEqual([201, 429]);
});

test('a body that does not say how long it is counts as the largest one, at most as the whole quota', async () => {
  const token = await create('pieces', '--quota', '1MiB/1h');
  const send = () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(PNG));
        controller.close();
      },
    });
    const headers = { authorization: `Bearer ${token}` };
    return fetch(`${server.url}/api/upload`, { method: 'POST', body, headers });
  };
  expect([(await send()).status, (await send()).status]).toEqual([201, 429]);
});

test('wrong tokens are counted: then that client can guess no more for a while, but who has a token can use it', async () => {
  const token = await create('desk');
  const guess = () => ask('198.51.100.6', 'GET', '/api/admin/images', 'not-the-administrator');
  const statuses = [];
  for (let n = 0; n < 12; n++) statuses.push((await guess()).status);
  expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
  const revoked = await upload('198.51.100.6', `${token.slice(0, -4)}AAAA`);
  expect([revoked.status, Number(revoked.headers.get('retry-after')) > 0]).toEqual([429, true]);
  expect((await upload('198.51.100.6', token)).status).toBe(201);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/^picpool_limited_total\{limit="wrong-token"\} 2$/m);
});

test('clients of other services bring a token where they have a place for it', async () => {
  const token = await create('picgo');
  const [from, stranger] = ['198.51.100.9', '198.51.100.10'];
  const bring = async (path: string, field: string, headers: Record<string, string> = {}, userhash = '') => {
    const body = new FormData();
    if (userhash !== '') body.append('userhash', userhash);
    body.append(field, new File([PNG], 'a.png'));
    const origin = { 'x-forwarded-for': userhash === 'wrong' ? stranger : from };
    const answer = await fetch(server.url + path, {
      method: 'POST',
      body,
      headers: { ...origin, ...headers },
    });
    return (await answer.text()).includes('/i/') ? 'stored' : `refused ${answer.status}`;
  };
  const outcomes = [
    await bring('/lsky/api/upload', 'image', { token }),
    await bring('/api/upload', 'image', { token }),
    await bring('/lsky/api/v1/upload', 'file', { authorization: token }),
    await bring('/smms/api/v2/upload', 'smfile', { authorization: token }),
    await bring('/imgur/3/image', 'image', { authorization: `Client-ID ${token}` }),
    await bring('/catbox/user/api.php', 'fileToUpload', {}, token),
    await bring(`/0x0?key=${token}`, 'file'),
    await bring(`/picgo/upload?key=${token}`, 'list'),
  ];
  expect(outcomes).toEqual(Array(8).fill('stored'));
  expect(await bring('/lsky/api/upload', 'image')).toBe('refused 200');
  expect(await bring('/0x0', 'file')).toBe('refused 401');
  expect(await bring('/catbox/user/api.php', 'fileToUpload')).toBe('refused 401');
  expect(await bring('/catbox/user/api.php', 'fileToUpload', {}, 'wrong')).toBe('refused 401');
  // A body that is not a form has no place for a token, and a picture in it needs one all the same.
  expect((await ask(stranger, 'POST', '/catbox/user/api.php', undefined, PNG)).status).toBe(401);
  expect((await ask(stranger, 'POST', '/catbox/user/api.php', token, PNG)).status).toBe(200);
});

test('the first page and ShareX ask for the token', async () => {
  expect(await (await ask('198.51.100.8', 'GET', '/')).text()).toContain('id="token"');
  expect(await json(await ask('198.51.100.8', 'GET', '/sharex.sxcu'))).toMatchObject({
    Headers: { Authorization: 'Bearer YOUR-TOKEN' },
  });
});

test('guests of an album may upload as long as the token of the one who invited them', async () => {
  const token = await create('host');
  const from = '198.51.100.40';
  const album = await json<{ id: string; token: string }>(await ask(from, 'POST', '/api/albums', token));
  const invite = (bearer?: string) =>
    fetch(`${server.url}/api/albums/${album.id}/invites`, {
      method: 'POST',
      headers: {
        'x-forwarded-for': from,
        'x-album-token': album.token,
        'content-type': 'application/json',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      },
      body: '{}',
    });
  expect((await invite()).status).toBe(401);
  const { url } = await json<{ url: string }>(await invite(token));
  const path = url.replace(server.url, '');
  const add = async () => (await ask('203.0.113.41', 'POST', path, undefined, new Uint8Array(PNG))).status;
  expect(await add()).toBe(201);
  await picpool('revoke', 'host');
  await until(async () => (await add()) === 403);
});
