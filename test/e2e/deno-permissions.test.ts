import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { absent } from '../support/absent.ts';
import { photo } from '../support/images.ts';
import { json } from '../support/json.ts';
import { type JudgeServer, startJudge } from '../support/judge-server.ts';
import { type Farm, startFarm } from '../support/proxy-farm.ts';
import { startServer } from '../support/server-process.ts';
import { sharedS3 } from '../support/services.ts';
import { withFolder } from '../support/temporary.ts';

let farm: Farm;
let judge: JudgeServer;
let task: string;
beforeAll(async () => {
  [farm, judge] = await Promise.all([startFarm(), startJudge()]);
  task = JSON.parse(await readFile('deno.json', 'utf8')).tasks.start;
});
afterAll(() => Promise.all([farm?.stop(), judge?.stop()]));

for (const where of ['a folder', 'S3']) {
  test.skipIf(where === 'S3' && absent('versitygw'))(
    `with the permissions of its task, the server checks proxies, stores images in ${where} and shows both`,
    async () => {
      const s3 = where === 'S3' ? await sharedS3() : null;
      await withFolder(async (folder) => {
        const command = task.replace(/(--allow-(?:read|write)=\S*)\bdata\b/g, `$1${folder}`).split(' ');
        const env = {
          PROXY_ALLOW_PRIVATE: 'true',
          PROXY_JUDGES: judge.url,
          PROXY_WITNESSES: 'none',
          PROXY_SOURCES: 'http://127.0.0.1:9/',
          IMAGE_WORKERS: '1',
          ...(s3 && {
            BLOBS_URL: s3.url,
            AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
            AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
          }),
        };
        const server = await startServer(command, env, folder);
        const ask = async (path: string, body?: Uint8Array<ArrayBuffer> | string) => {
          const headers = { ...(typeof body === 'string' && { 'content-type': 'application/json' }) };
          const init = body === undefined ? {} : { method: 'POST', body, headers };
          return json(await fetch(`${server.url}${path}`, init));
        };
        try {
          const checked = await ask('/api/test_proxy_quick', JSON.stringify(farm.endpoint('socks5')));
          expect(checked).toMatchObject({ alive: true, country: 'ZZ' });
          const { id } = await ask('/api/upload', new Uint8Array(await photo(200, 100)));
          expect(await ask('/api/list')).toMatchObject({ images: [{ id, width: 200 }] });
          expect(await ask(`/api/search?q=${id}`)).toMatchObject({ total: 1 });
          expect(await ask('/api/v1/proxies')).toMatchObject({ success: true });
          for (const path of ['/', '/proxies', '/docs', '/gallery', '/openapi.json', `/i/${id}.webp`]) {
            expect((await fetch(`${server.url}${path}`)).status).toBe(200);
          }
          expect(await ask('/api/refresh', '')).toMatchObject({ success: true });
          // What stands on the free space of the disk would go unsaid, were it not allowed to be asked.
          expect(await (await fetch(`${server.url}/metrics`)).text()).toMatch(/^picpool_disk_free_bytes \d/m);
        } finally {
          expect(await server.stop()).toBe(0);
          await s3?.stop();
        }
        expect(server.stderr()).not.toContain('NotCapable');
      });
    },
    180_000,
  );
}

test('without the script of its thread the server searches all the same', () =>
  withFolder(async (folder) => {
    const command = task
      .replace('src/runtime,', '')
      .replace(/\bdata\b/g, folder)
      .split(' ');
    const server = await startServer(command, {}, folder);
    try {
      expect((await fetch(`${server.url}/api/search?q=nothing`)).status).toBe(200);
    } finally {
      await server.stop();
    }
  }));

test('the documents name every permission of the task', async () => {
  const text = await readFile('docs/deployment.md', 'utf8');
  const flags = task.split(' ').filter((word) => word.startsWith('--allow'));
  expect(flags.filter((flag) => !text.includes(`\`${flag}\``))).toEqual([]);
  expect(flags.length).toBeGreaterThan(4);
});
