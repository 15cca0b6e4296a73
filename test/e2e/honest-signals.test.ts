import { expect, test } from 'bun:test';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { json } from '../support/json.ts';
import { cli } from '../support/servers/cli.ts';
import { childrenOf } from '../support/servers/processes.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import { COMMANDS, startServer } from '../support/servers/server-process.ts';
import { endedAfterEach, sharedFolder } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';

/** Starts a server that is stopped after the test. */
const start = endedAfterEach(startServer);

const IMAGES = { ...QUIET, SERVICES: 'image' };
const scratch = await sharedFolder();

test('while uploads are refused for want of disk, /readyz says degraded and a metric counts it', async () => {
  const server = await start('bun', { ...IMAGES, IMAGE_MIN_FREE: '900000GiB' });
  expect((await upload(server)).status).toBe(507);
  const ready = await json<{ status: string; degraded: string[] }>(await fetch(`${server.url}/readyz`));
  expect(ready.status).toBe('degraded');
  expect(ready.degraded).toEqual([expect.stringContaining('Uploads are refused')]);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/^picpool_findings 1$/m);
  expect(metrics).toMatch(/^picpool_build_info\{version="\d+\.\d+\.\d+"\} 1$/m);
}, 60_000);

test('while no conversion process starts, /readyz says degraded, until one does again', async () => {
  const server = await start('bun', IMAGES);
  expect((await upload(server)).status).toBe(201);
  const degraded = async () =>
    (await json<{ degraded?: string[] }>(await fetch(`${server.url}/readyz`))).degraded;
  expect(await degraded()).toBeUndefined();
  const work = join(server.folder, 'work');
  await rm(work, { recursive: true });
  await writeFile(work, '');
  for (const pid of await childrenOf(server.pid)) process.kill(pid, 'SIGKILL');
  await until(async () => String(await degraded()).includes('no conversion process starts'));
  expect((await upload(server)).status).toBe(503);
  await rm(work);
  await until(async () => (await degraded()) === undefined);
  expect((await upload(server)).status).toBe(201);
}, 60_000);

test.each(['bun', 'deno'] as const)(
  'with LOG_FORMAT=json all that the server writes on %s is JSON, and probes are not in it',
  async (runtime) => {
    const [port, log] = [await freePort(), join(scratch, `log-${runtime}`)];
    const env = {
      ...IMAGES,
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      HOST: '::',
      PORT: String(port),
      DATA_DIR: join(scratch, `data-${runtime}`),
    };
    const child = Bun.spawn(['sh', '-c', 'exec "$@" >"$0" 2>&1', log, ...COMMANDS[runtime]], {
      env: { ...env, LOG_FORMAT: 'json' },
    });
    const said = () => readFile(log, 'utf8').catch(() => '');
    await until(async () => (await said()).includes('"started"'));
    // HOST=:: serves both families.
    for (const host of ['127.0.0.1', '[::1]']) {
      for (const path of ['livez', 'readyz', 'metrics', 'api/list']) {
        expect((await fetch(`http://${host}:${port}/${path}`)).status).toBe(200);
      }
    }
    const refused = await fetch(`http://127.0.0.1:${port}/api/upload`, {
      method: 'POST',
      body: 'no picture',
    });
    expect(refused.status).toBe(415);
    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    const lines = (await said())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.find(({ message }) => message === 'started')).toMatchObject({
      services: 'image',
      level: 'info',
    });
    expect(lines.filter(({ message }) => message === 'request').map(({ path }) => path)).toEqual([
      '/api/list',
      '/api/list',
      '/api/upload',
    ]);
  },
  60_000,
);

test('doctor --exposed skips what it cannot see from outside', async () => {
  const server = await startServer('bun', IMAGES);
  try {
    const { stdout } = await cli(['doctor', '--exposed', server.url], { env: { PORT: '1' } });
    expect(stdout).toMatch(/^skip {2}forged addresses +cannot be seen from outside/m);
    expect(stdout).toMatch(/^FAIL {2}administrator /m);
  } finally {
    await server.stop();
  }
}, 60_000);

test.each(['bun', 'deno'] as const)(
  'on %s, HEAD tells no length that GET does not have',
  async (runtime) => {
    const server = await start(runtime, IMAGES);
    for (const path of ['gallery', 'metrics', 'api/stats', 'api/list']) {
      const head = await fetch(`${server.url}/${path}`, { method: 'HEAD' });
      const length = head.headers.get('content-length');
      const { byteLength } = await (await fetch(`${server.url}/${path}`)).arrayBuffer();
      // The numbers of metrics change between the two.
      if (length !== null && path !== 'metrics') expect([path, Number(length)]).toEqual([path, byteLength]);
      expect([path, length]).not.toEqual([path, '0']);
    }
  },
  60_000,
);

test.each([
  [
    'METADATA_URL',
    'redis://127.0.0.1:9?prefx=two',
    2,
    /METADATA_URL cannot be used: prefx is not a parameter/,
  ],
  ['BLOBS_URL', 's3://bucket?endpont=http://127.0.0.1:9', 2, /BLOBS_URL cannot be used: endpont is not/],
  ['HOST', '999.1.1.1', 1, /cannot listen with HOST=999\.1\.1\.1 and PORT=0\. \(/],
])(
  'a %s that cannot be used is named, and systemd does not start a server again with a wrong URL',
  async (name, value, code, said) => {
    const env = { ...IMAGES, DATA_DIR: join(scratch, name), PORT: '0', [name]: value };
    const { code: ended, stderr } = await cli(['serve'], { env });
    expect([ended, stderr]).toEqual([code, expect.stringMatching(said)]);
  },
);
