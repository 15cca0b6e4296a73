import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ADMIN, ADMIN_TOKEN } from '../support/admin.ts';
import { asJson } from '../support/json.ts';
import { PNG, type RunningServer, runServer, withServer } from '../support/servers/running-server.ts';
import { until } from '../support/stores/services.ts';

const AUDIT_LOG = join(tmpdir(), `picpool-audit-${process.pid}.jsonl`);
let server: RunningServer;
beforeAll(async () => {
  server = await runServer({ ADMIN_TOKEN, AUDIT_LOG });
});
afterAll(async () => {
  await server.stop();
  await rm(AUDIT_LOG, { force: true });
});

interface Line {
  id: string;
  time: string;
  what: string;
  subject: string;
  who: string;
  peer?: string;
  why?: string;
}
const lines = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
const log = async () => lines(await (await server.send('/api/admin/log', { headers: ADMIN })).text());
const upload = async (from: string) =>
  (await (await server.upload('', from)).json()) as { id: string; delete_token: string };

test('the log says who deleted and blocked what, and why, also outside the store', async () => {
  const one = await upload('192.0.2.7');
  const other = await upload('192.0.2.8');
  await server.send(`/api/delete/${one.id}?reason=spam`, {
    method: 'DELETE',
    headers: ADMIN,
    from: '192.0.2.9',
  });
  await server.send(`/api/delete/${other.id}`, {
    method: 'DELETE',
    headers: { 'x-delete-token': other.delete_token },
    from: '192.0.2.8',
  });
  await server.post('/api/admin/blocks', { network: '192.0.2.0/28', reason: 'spam' }, ADMIN);
  await server.send('/api/admin/blocks?network=192.0.2.0/28', { method: 'DELETE', headers: ADMIN });
  const found = await log();
  expect(found.map(({ what, subject, who, peer, why }) => [what, subject, who, peer, why])).toEqual([
    ['block.remove', 'network 192.0.2.0/28', 'administrator', '127.0.0.1', undefined],
    ['block.add', 'network 192.0.2.0/28', 'administrator', '127.0.0.1', 'spam'],
    ['image.delete', `image ${other.id}`, 'uploader', '192.0.2.8', ''],
    ['image.delete', `image ${one.id}`, 'administrator', '192.0.2.9', 'spam'],
  ]);
  // Acts are told outside for as long as that takes.
  const ids = found.map(({ id }) => id).sort();
  const toldIds = async () => lines(await readFile(AUDIT_LOG, 'utf8').catch(() => '')).map(({ id }) => id);
  await until(async () => Bun.deepEquals((await toldIds()).sort(), ids));
  const [, second] = found;
  const rest = await server.send(`/api/admin/log?after=${second?.id}&limit=1`, { headers: ADMIN });
  expect(lines(await rest.text()).map(({ id }) => id)).toEqual([found[2]?.id ?? '']);
});

test('the log has what an administrator does to the album of others, and not what its owner does', async () => {
  const before = (await log()).length;
  const image = await upload('192.0.2.7');
  const { id, token } = (await (
    await server.post('/api/albums', { images: [{ id: image.id, delete_token: image.delete_token }] })
  ).json()) as { id: string; token: string };
  const ask = (method: string, headers: Record<string, string>, query = '') =>
    server.send(`/api/albums/${id}${query}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      from: '192.0.2.9',
      ...(method === 'PATCH' && { body: JSON.stringify({ title: 'Harbour' }) }),
    });
  const statuses = [
    await ask('PATCH', { 'x-album-token': token }),
    await ask('PATCH', ADMIN),
    await server.send(`/api/upload?album=${id}`, { method: 'POST', headers: ADMIN, body: PNG }),
    await server.post(`/api/albums/${id}/invites`, {}, ADMIN),
    await ask('DELETE', ADMIN, '?images=delete&reason=spam'),
  ].map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 201, 201, 200]);
  const acts = (await log()).slice(0, -before);
  // The pictures of the album, its own one and that of the administrator, go in any order.
  expect(acts.splice(0, 2)).toContainEqual(
    expect.objectContaining({ what: 'image.delete', subject: `image ${image.id}`, why: 'spam' }),
  );
  expect(acts.map((act) => [act.what, act.subject, act.who, act.peer, act.why])).toEqual([
    ['album.delete', `album ${id}`, 'administrator', '192.0.2.9', 'spam'],
    ['album.invite', `album ${id}`, 'administrator', '127.0.0.1', ''],
    ['album.change', `album ${id}`, 'administrator', '127.0.0.1', ''],
    ['album.change', `album ${id}`, 'administrator', '192.0.2.9', ''],
  ]);
});

test('the log says whose album it was from which its owner deleted the picture of a guest', async () => {
  const { id, token } = (await (await server.post('/api/albums', {})).json()) as {
    id: string;
    token: string;
  };
  const owner = { 'x-album-token': token };
  const { url } = (await (await server.post(`/api/albums/${id}/invites`, {}, owner)).json()) as {
    url: string;
  };
  const { pathname, search } = new URL(url);
  const added = await server.send(pathname + search, { method: 'POST', body: PNG, from: '192.0.2.80' });
  const guest = ((await added.json()) as { id: string }).id;
  const picture = `/api/albums/${id}/images/${guest}?image=delete`;
  expect((await server.send(picture, { method: 'DELETE', headers: owner })).status).toBe(200);
  const [last] = await log();
  expect([last?.what, last?.subject, last?.who]).toEqual(['image.delete', `image ${guest}`, `album ${id}`]);
});

test('a refused deletion is not in the log, and neither is a change by the uploader', async () => {
  const before = (await log()).length;
  const image = await upload('192.0.2.70');
  await server.send(`/api/delete/${image.id}`, { method: 'DELETE', headers: { 'x-delete-token': 'x' } });
  const change = (headers: Record<string, string>, visibility = 'unlisted') =>
    server.send(`/api/image/${image.id}`, asJson('PATCH', { visibility }, headers));
  // It needs a password.
  expect((await change(ADMIN, 'protected')).status).toBe(400);
  expect((await change({ 'x-delete-token': image.delete_token })).status).toBe(200);
  expect(await log()).toHaveLength(before);
  expect((await change(ADMIN)).status).toBe(200);
  expect((await log())[0]).toMatchObject({ what: 'image.change', who: 'administrator', why: 'visibility' });
});

test('a line that a full disk has cut swallows no other', async () => {
  const path = join(tmpdir(), `picpool-cut-${process.pid}`);
  await writeFile(path, '{"id":"cut');
  await withServer({ ADMIN_TOKEN, SERVICES: 'proxy', AUDIT_LOG: path }, async (cut) => {
    await cut.post('/api/admin/blocks', { network: '192.0.2.0/24' }, ADMIN);
    await cut.post('/api/admin/blocks', { network: '198.51.100.0/24' }, ADMIN);
    await until(async () => (await readFile(path, 'utf8')).split('\n').length > 3);
  });
  const [first, ...others] = (await readFile(path, 'utf8')).trimEnd().split('\n');
  await rm(path);
  expect(first).toBe('{"id":"cut');
  expect(lines(others.join('\n')).map(({ what }) => what)).toEqual(['block.add', 'block.add']);
});
test('a file that cannot take lines is told at the start, and as long as that is so', async () => {
  const path = join(tmpdir(), `picpool-absent-${process.pid}`, 'acts.jsonl');
  await withServer({ SERVICES: 'proxy', AUDIT_LOG: path }, async ({ send, logged }) => {
    const text = 'AUDIT_LOG names a file that lines cannot be appended to.';
    await until(() => logged.some(({ message }) => message === text));
    expect(await (await send('/readyz')).text()).toContain(text);
    await mkdir(dirname(path));
    expect(await (await send('/readyz')).text()).not.toContain(text);
  });
  await rm(dirname(path), { recursive: true });
});
