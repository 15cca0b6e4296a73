import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, readdir, readFile, readlink, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { quarters } from '../support/images/images.ts';
import { cli } from '../support/servers/cli.ts';
import { startServer } from '../support/servers/server-process.ts';

const SETTINGS = { PROXY_JUDGES: 'http://127.0.0.1:9/', RATE_LIMITS: 'off' };
let scratch: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'picpool-backup-'));
});

afterAll(() => rm(scratch, { recursive: true }));

test('only new pictures are copied, and old backups go with their files once the new one is verified', async () => {
  const server = await startServer('bun', SETTINGS);
  const target = join(scratch, 'kept');
  const backup = async (...options: string[]) => {
    await nextSecond();
    return cli(['backup', target, ...options], { env: { DATA_DIR: server.folder } });
  };
  const list = async () => (await cli(['restore', target, '--list'])).stdout.trim().split('\n');
  const [first, second] = [await upload(server.url), await upload(server.url)];
  expect((await backup()).stdout).toContain('2 images (2 copied now');
  await remove(server.url, first);
  const third = await upload(server.url);
  expect((await backup()).stdout).toContain('2 images (1 copied now');
  expect(await list()).toHaveLength(2);
  await age(target);

  await writeFile((await fileOf(target, second)) ?? '', (await stored(server.url, second)).fill(0));
  const damaged = await backup('--keep', '1', '--check');
  expect([damaged.code, damaged.stderr]).toEqual([1, expect.stringContaining(`${second} is not intact`)]);
  expect(await list()).toHaveLength(3);
  expect(await fileOf(target, first)).not.toBeNull();

  const whole = await backup('--keep', '1', '--check');
  expect([whole.code, whole.stdout]).toEqual([
    0,
    expect.stringContaining('3 old backups and 1 file removed'),
  ]);
  expect(await list()).toHaveLength(1);
  expect(await fileOf(target, first)).toBeNull();
  for (const id of [second, third]) expect(await fileOf(target, id)).not.toBeNull();
  expect(await server.stop()).toBe(0);
}, 180_000);

test('a backup goes to no place of another installation, nor over its images, and a damaged one is not restored', async () => {
  const [one, other] = [await startServer('bun', SETTINGS), await startServer('bun', SETTINGS)];
  await upload(one.url);
  await upload(other.url);
  const target = join(scratch, 'claimed');
  const run = (words: string[], folder: string) => cli(words, { env: { DATA_DIR: folder } });
  expect((await run(['backup', target], one.folder)).code).toBe(0);
  const foreign = await run(['backup', target], other.folder);
  expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining('another installation')]);
  expect((await run(['restore', target], other.folder)).stderr).toContain('of another installation');
  const images = join(one.folder, 'images');
  expect((await run(['backup', images], one.folder)).stderr).toContain('TARGET holds the images');
  const records = (await fileOf(target, 'records_')) ?? '';
  await writeFile(records, 'damaged');
  const fresh = join(scratch, 'fresh');
  const refused = await run(['restore', target], fresh);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('are damaged')]);
  for (const server of [one, other]) expect(await server.stop()).toBe(0);
}, 180_000);

/** Backups are named by the second. */
const nextSecond = () => Bun.sleep(1000 - (Date.now() % 1000));

async function fileOf(folder: string, start: string): Promise<string | null> {
  const names = await readdir(folder, { recursive: true });
  const found = names.find((name) => basename(name).startsWith(start));
  return found === undefined ? null : join(folder, found);
}

/** Makes the files old enough to be removed. */
async function age(folder: string): Promise<void> {
  const past = new Date(Date.now() - 2 * 86_400_000);
  for (const name of await readdir(folder, { recursive: true })) await utimes(join(folder, name), past, past);
}

const stored = async (url: string, id: string) =>
  Buffer.from(await (await fetch(`${url}/i/${id}.png`)).arrayBuffer());

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

    const made = await cli(['backup', join(scratch, 'beside')], { env: { DATA_DIR: server.folder } });
    expect(made.code).toBe(0);
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
