import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cp, mkdir, readdir, readFile, rm, symlink, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { landlockVersion } from '../../src/lib/linux/landlock.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { absent } from '../support/absent.ts';
import { type Farm, startFarm } from '../support/farm/farm.ts';
import { type JudgeServer, startJudge } from '../support/farm/judge-server.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { run } from '../support/run.ts';
import { logInto, startServer } from '../support/servers/server-process.ts';
import { sharedS3 } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

const system = await bunRuntime.system();
const withMeans = system !== null && landlockVersion(system) >= 3;
let farm: Farm;
let judge: JudgeServer;
let task: string;
beforeAll(async () => {
  [farm, judge] = await Promise.all([startFarm(), startJudge()]);
  task = JSON.parse(await readFile('deno.json', 'utf8')).tasks.start;
});
afterAll(() => Promise.all([farm?.stop(), judge?.stop()]));

const RUNS = [
  ['a folder', 'its packages in folders of Deno'],
  ['S3', 'its packages in folders of Bun'],
] as const;

/** Large packages that the server does not use. */
const FOR_TESTS = ['@biomejs', '@typescript', '@redocly', 'bun-types', 'playwright-core'];

/**
 * Copies the project with the packages as `deno install` places them: files are in a folder of Deno, to which links
 * lead. A permission is needed for where they are, not for where the link is.
 */
async function copyForDeno(folder: string): Promise<void> {
  const packages = join(folder, 'node_modules');
  const all = join(packages, '.deno', 'all', 'node_modules');
  await mkdir(dirname(all), { recursive: true });
  for (const name of ['src', 'adapters', 'package.json', 'deno.json']) {
    await cp(name, join(folder, name), { recursive: true });
  }
  // Links of files lead nowhere else; on another disk there are none.
  await run(['sh', '-c', 'cp -al node_modules "$0" || cp -a node_modules "$0"', all]);
  for (const name of FOR_TESTS) await rm(join(all, name), { recursive: true, force: true });
  for (const name of await readdir(all))
    await symlink(join('.deno', 'all', 'node_modules', name), join(packages, name));
}

for (const [where, layout] of RUNS) {
  test.skipIf(where === 'S3' && absent('versitygw'))(
    `with the permissions of its task and ${layout}, the server checks proxies, stores images in ${where} and shows both`,
    async () => {
      const s3 = where === 'S3' ? await sharedS3() : null;
      await withFolder(async (folder) => {
        const project = layout === RUNS[0][1] ? join(folder, 'project') : '.';
        if (project !== '.') await copyForDeno(project);
        const data = join(folder, 'data');
        // Of a server with the same folder, which may run for all that Deno lets this one know, and of one long gone.
        const [used, old] = ['1-0123abcd-1', '1-0123abcd-2'].map((name) =>
          join(data, 'work', name, 'given'),
        ) as [string, string];
        await Promise.all([used, old].map((one) => mkdir(one, { recursive: true })));
        await utimes(old, 0, 0);
        const command = task.replace(/(--allow-(?:read|write)=\S*)\bdata\b/g, `$1${data}`).split(' ');
        const env = {
          PROXY_ALLOW_PRIVATE: 'true',
          PROXY_JUDGES: judge.url,
          PROXY_WITNESSES: 'none',
          PROXY_SOURCES: 'http://127.0.0.1:9/',
          AUDIT_LOG: join(data, 'acts.jsonl'),
          IMAGE_WORKERS: '1',
          IMAGE_SANDBOX: withMeans ? 'require' : 'on',
          ...(s3 && {
            BLOBS_URL: s3.url,
            AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
            AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
          }),
        };
        const inProject = ['sh', '-c', 'cd "$0" && exec "$@"', project];
        const server = await startServer(command, env, data, inProject);
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
          const left = await readdir(join(data, 'work'));
          expect([left.includes('1-0123abcd-1'), left.includes('1-0123abcd-2')]).toEqual([true, false]);
          const lines = await run([...inProject, ...command, 'doctor', '--offline'], {
            env: { ...process.env, ...env, DATA_DIR: data, PORT: '0' },
          });
          expect(lines).toMatch(/^ok {4}image conversion +a PNG became a WebP$/m);
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

test('with fewer permissions the server searches all the same, and says what it does not take into account', () =>
  withFolder(async (folder) => {
    const command = task
      .replace('src/runtime,', '')
      .replace(',statfs', '')
      .replace(/\bdata\b/g, folder)
      .split(' ');
    const log = join(folder, 'log');
    const server = await startServer(command, {}, folder, logInto(log));
    try {
      expect((await fetch(`${server.url}/api/search?q=nothing`)).status).toBe(200);
    } finally {
      await server.stop();
    }
    expect(await readFile(log, 'utf8')).toContain('"permissions":["--allow-sys=statfs"]');
    const env = { ...process.env, DATA_DIR: folder, PORT: '0' };
    const doctor = run([...command, 'doctor', '--offline'], { env });
    await expect(doctor).rejects.toThrow('warn  settings           --allow-sys=statfs is missing\n');
    const DATA_DIR = join(folder, 'none');
    const early = [...command.map((word) => word.replace(folder, DATA_DIR)), 'doctor', '--offline'];
    await expect(run(early, { env: { ...env, DATA_DIR } })).rejects.toThrow(
      /FAIL {2}data folder .*start the server once.*FAIL {2}image conversion .*start the server once/s,
    );
  }));

test('the documents name every permission of the task', async () => {
  const text = await readFile('docs/deployment.md', 'utf8');
  const flags = task.split(' ').filter((word) => word.startsWith('--allow'));
  expect(flags.filter((flag) => !text.includes(`\`${flag}\``))).toEqual([]);
  expect(flags.length).toBeGreaterThan(4);
});
