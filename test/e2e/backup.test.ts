import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { quarters } from '../support/images/images.ts';
import { startServer } from '../support/servers/server-process.ts';

const run = promisify(execFile);
const SETTINGS = { PROXY_JUDGES: 'http://127.0.0.1:9/', RATE_LIMITS: 'off' };
let scratch: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'picpool-backup-'));
});

afterAll(() => rm(scratch, { recursive: true }));

test('a backup that is made while images come and go is complete, and a server runs on it', async () => {
  const server = await startServer('bun', SETTINGS);
  const before = [await upload(server.url), await upload(server.url), await upload(server.url)];
  const gone = await upload(server.url);

  let going = true;
  const uploading = (async () => {
    let count = 0;
    for (; going || count === 0; count++) {
      const id = await upload(server.url);
      if (count % 2 === 0) await remove(server.url, id);
    }
  })();
  await remove(server.url, gone);
  const { stdout } = await run('examples/backup', [server.folder, join(scratch, 'backups')]);
  going = false;
  await uploading;
  expect(await server.stop()).toBe(0);
  expect(await readdir(join(scratch, 'backups'))).toEqual([stdout.trim().split('/').at(-1) ?? '']);

  const restored = join(scratch, 'restored');
  await run('examples/restore', [stdout.trim(), restored]);
  const second = await startServer('bun', SETTINGS, restored);
  const ids = await listed(second.url);
  expect(ids).toEqual(expect.arrayContaining(before));
  expect(ids).not.toContain(gone);
  for (const id of before) expect((await fetch(`${second.url}/i/${id}.png`)).status).toBe(200);
  expect(typeof (await upload(second.url))).toBe('string');
  expect(await second.stop()).toBe(0);
}, 180_000);

test('a backup is not restored over data, nor when its database is damaged', async () => {
  const data = join(scratch, 'small');
  await mkdir(data);
  const database = new Database(join(data, 'picpool.db'), { create: true });
  database.run('CREATE TABLE kept (id)');
  database.close();
  const backup = (await run('examples/backup', [data, join(scratch, 'small-backups')])).stdout.trim();
  await expect(run('examples/restore', [backup, data])).rejects.toThrow('is not empty');
  await writeFile(join(backup, 'picpool.db'), 'damaged');
  await expect(run('examples/restore', [backup, join(scratch, 'other')])).rejects.toThrow();
  expect(await readdir(scratch)).not.toContain('other');
});

const picture = quarters().png().toBuffer();

async function upload(url: string, more = '', headers: Record<string, string> = {}): Promise<string> {
  const body = await picture;
  const answer = await fetch(`${url}/api/upload?format=png${more}`, { method: 'POST', headers, body });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

async function remove(url: string, id: string): Promise<void> {
  expect((await fetch(`${url}/api/delete/${id}`, { method: 'DELETE' })).status).toBe(200);
}

async function listed(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/api/list?per_page=100`);
  const { images } = (await answer.json()) as { images: { id: string }[] };
  return images.map(({ id }) => id);
}

describe('SQLite locks the database against other processes', () => {
  test('after every kind of read, so that a backup beside the server loses nothing', async () => {
    const server = await startServer('bun', SETTINGS);
    const path = join(server.folder, 'picpool.db');
    const before = [await upload(server.url), await upload(server.url)];
    const held = await locksOn(path);
    expect(held).not.toEqual([]);
    for (const read of await reads(server.url, before)) {
      await whole(`${server.url}${read}`);
      expect([read, await locksOn(path)]).toEqual([read, held]);
    }
    const opened = (await readlinks(server.pid)).filter((one) => one.startsWith(path)).length;
    for (let times = 0; times < 5; times++) await whole(`${server.url}/api/export`);
    expect((await readlinks(server.pid)).filter((one) => one.startsWith(path))).toHaveLength(opened);

    await run('examples/backup', [server.folder, join(scratch, 'read-backups')]);
    expect(await readlinks(server.pid)).not.toContainEqual(expect.stringContaining('(deleted)'));
    const after = [await upload(server.url), await upload(server.url)];
    server.kill('SIGKILL');
    await server.exited;
    const second = await startServer('bun', SETTINGS, server.folder);
    expect(await listed(second.url)).toEqual(expect.arrayContaining([...before, ...after]));
    expect(await second.stop()).toBe(0);
    await rm(server.folder, { recursive: true });
  }, 180_000);
});

/** Every address that the API description can read, and more forms of those that open connections of their own. */
async function reads(url: string, [id = '']: string[]): Promise<string[]> {
  const made = await fetch(`${url}/api/albums`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"title":"Locks"}',
  });
  const { id: album, token } = (await made.json()) as { id: string; token: string };
  await upload(url, `&album=${album}`, { 'x-album-token': token });
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, { get?: object }>;
  };
  const described = Object.entries(paths).filter(([, { get }]) => get);
  const filled = described.map(([path]) =>
    path.replace(/\{(\w+)\}/g, () => (/album|\/a\//.test(path) ? album : id)),
  );
  return [
    ...filled,
    ...['/', '/gallery', '/gallery?q=png', '/metrics', '/readyz', `/a/${album}`, `/a/${album}.zip`],
    ...['txt', 'csv', 'json'].map((format) => `/api/export?format=${format}`),
    ...['response_time', 'random'].map((sort) => `/api/export?status=all&sort=${sort}`),
    ...['/api/list?q=png', '/api/list?format=png&page=2', '/api/proxies?status=all&country=DE'],
  ];
}

/** Reads an answer to its end, or its beginning if it has none. */
async function whole(url: string): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(20_000) });
  if (answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer.body?.cancel();
  await answer.arrayBuffer();
}

/** The kinds and ranges of all locks that processes hold on the file. */
async function locksOn(path: string): Promise<string[]> {
  const { ino } = await stat(path);
  const lines = (await readFile('/proc/locks', 'utf8')).split('\n');
  return lines
    .filter((line) => line.includes(`:${ino} `))
    .map((line) => line.replace(/^\d+: /, ''))
    .sort();
}

/** What the open descriptors of a process lead to. */
async function readlinks(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder);
  return Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')));
}
