import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { quarters } from '../support/images.ts';
import { startServer } from '../support/server-process.ts';

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

async function upload(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/upload?format=png`, { method: 'POST', body: await picture });
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
