import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { asJson } from '../support/json.ts';
import { run } from '../support/run.ts';
import {
  type BinaryOptions,
  OTHER_USER,
  type RunningBinary,
  startBinary,
} from '../support/servers/binary.ts';
import { childrenOf } from '../support/servers/processes.ts';
import { upload } from '../support/servers/quiet-server.ts';
import { PNG } from '../support/servers/running-server.ts';
import { smoke } from '../support/servers/smoke.ts';
import { withSchema } from '../support/stores/postgres.ts';
import { sharedPostgres } from '../support/stores/postgres-server.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { sharedRedis, until } from '../support/stores/services.ts';

/** Closed on every machine: no judge and no source is asked, and nothing leaves the machine. */
const NOWHERE = 'http://127.0.0.1:9/';
const SETTINGS = {
  HOST: '127.0.0.1',
  PORT: '0',
  PROXY_JUDGES: NOWHERE,
  PROXY_SOURCES: NOWHERE,
  PROXY_REFRESH_ON_START: 'false',
};

let scratch: string;
let binary: string;
const started: RunningBinary[] = [];

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'picpool-binary-'));
  await chmod(scratch, 0o755);
  const built = process.env.PICPOOL_BINARY || join(scratch, 'built', 'picpool');
  if (!process.env.PICPOOL_BINARY) await run(['bun', 'scripts/build.ts', '--out', dirname(built)]);
  binary = join(scratch, 'picpool');
  await cp(built, binary);
}, 180_000);

afterAll(async () => {
  await Promise.all(started.map((one) => one.end('SIGKILL')));
  await rm(scratch, { recursive: true });
});

function start(options: BinaryOptions): RunningBinary {
  const running = startBinary(binary, options);
  started.push(running);
  return running;
}

/** A new folder of the user that runs the program. */
async function folder(name: string): Promise<string> {
  const path = join(scratch, name);
  await mkdir(path, { mode: 0o700 });
  await give(path, OTHER_USER);
  return path;
}

async function give(path: string, user: number | undefined): Promise<void> {
  if (user !== undefined) await chown(path, user, user);
}

test('the one file is under 150 MB', async () => {
  expect((await stat(binary)).size).toBeLessThan(150e6);
});

test('the one file serves everything, as another user, with no environment, in a folder that it may not write', async () => {
  const cwd = join(scratch, 'read-only');
  await mkdir(cwd, { mode: 0o555 });
  const data = await folder('data');
  const settings = Object.entries({ ...SETTINGS, DATA_DIR: data, TMPDIR: '/nonexistent' });
  await writeFile(join(cwd, '.env'), settings.map(([name, value]) => `${name}=${value}\n`).join(''));
  const server = start({ cwd, env: {} });
  const [, url = ''] = await server.says(/listening\s+(\S+)/);
  expect(await residentBytes(server.child.pid)).toBeLessThan(120e6);
  await smoke(url);

  // A tidied disk lacks the libraries, which the processes have open until they end.
  await rm(join(data, 'native'), { recursive: true });
  for (const pid of await childrenOf(server.child.pid ?? 0)) process.kill(pid, 'SIGKILL');
  await until(async () => (await upload({ url })).status === 201);

  // No judge answers, which is logged; the map inside the file leads to the line of the source.
  const proxy = { ip: '8.8.8.8', port: 80, protocol: 'http' };
  const untested = await fetch(`${url}/api/test_proxy_quick`, asJson('POST', proxy));
  expect(untested.status).toBe(503);
  await server.says(/src\/proxy\/[\w/-]+\.ts:\d+:\d+/);
  // A library that reads the code of functions could not make sense of it once it was minified, and said so.
  expect(server.output()).not.toContain('unexpected');

  const port = new URL(url).port;
  const health = start({ args: ['health'], cwd, env: { PORT: port } });
  expect([await exitCode(health), health.output()]).toEqual([0, '']);
  expect(await server.end('SIGTERM')).toBe(0);
  expect(await exitCode(start({ args: ['health'], cwd, env: { PORT: port } }))).toBe(1);
  expect(await readdir(cwd)).toEqual(['.env']);
  expect(await readdir(data)).toContain('native');
}, 180_000);

/** What libraries prepare for their explanations passes through here; in development it has the expected value. */
const LISTENING = `const { stringify } = JSON;
JSON.stringify = (value, ...rest) => {
  if (value?.type === 'validation') console.error(\`explained by \${Object.keys(value).join()}.\`);
  return stringify(value, ...rest);
};
`;

test('in the one file, libraries run in production mode, whatever the environment says', async () => {
  const cwd = await folder('production');
  const preload = join(scratch, 'listening.js');
  await writeFile(preload, LISTENING);
  const mode = { NODE_ENV: 'development', BUN_OPTIONS: `--preload ${preload}` };
  const server = start({
    cwd,
    env: { ...SETTINGS, ...mode, SERVICES: 'proxy', DATA_DIR: join(cwd, 'data') },
  });
  const [, url = ''] = await server.says(/listening\s+(\S+)/);
  const refused = await fetch(`${url}/api/test_proxy_quick`, asJson('POST', { ip: 1 }));
  expect(refused.status).toBe(400);
  const [, fields] = await server.says(/explained by (.*)\./);
  expect(fields).toBe('type,on,found');
  expect(await server.end('SIGTERM')).toBe(0);
}, 60_000);

test.each(['sqlite', 'redis', 'postgres'])(
  'the one file starts on an empty %s, and stores a picture there',
  async (kind) => {
    const cwd = await folder(`empty-${kind}`);
    const store = await emptyStore(kind);
    try {
      const env = { ...SETTINGS, SERVICES: 'image', DATA_DIR: join(cwd, 'data') };
      const server = start({ cwd, env: { ...env, ...(store.url && { METADATA_URL: store.url }) } });
      const [, url = ''] = await server.says(/listening\s+(\S+)/);
      const uploaded = await fetch(`${url}/api/upload`, { method: 'POST', body: PNG });
      expect([uploaded.status, server.output()]).toEqual([201, expect.any(String)]);
      const { id } = (await uploaded.json()) as { id: string };
      for (const path of [`/i/${id}`, `/i/${id}.webp`]) expect((await fetch(url + path)).status).toBe(200);
      expect(await server.end('SIGTERM')).toBe(0);
    } finally {
      await store.stop();
    }
  },
  180_000,
);

/** A store for records in which nothing was ever made. */
async function emptyStore(kind: string): Promise<{ url?: string; stop(): Promise<void> }> {
  if (kind === 'sqlite') return { stop: async () => {} };
  const server = await (kind === 'redis' ? sharedRedis() : sharedPostgres());
  return { url: (kind === 'redis' ? withPrefix : withSchema)(server.url), stop: server.stop };
}

test('secrets come from the files that NAME_FILE names, and from nowhere else', async () => {
  const cwd = await folder('secrets');
  const file = join(cwd, 'admin');
  await writeFile(file, 'the-token-of-the-administrator\n', { mode: 0o400 });
  await give(file, OTHER_USER);
  const env = { ...SETTINGS, DATA_DIR: join(cwd, 'data'), SERVICES: 'image', ADMIN_TOKEN_FILE: file };
  const server = start({ cwd, env });
  const [, url = ''] = await server.says(/listening\s+(\S+)/);
  const cleanUp = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${url}/api/cleanup`, { method: 'POST', headers });
    await answer.body?.cancel();
    return answer.status;
  };
  expect(await cleanUp('some-other-token-of-somebody')).toBe(401);
  expect(await cleanUp('the-token-of-the-administrator')).toBe(200);
  expect(await server.end('SIGTERM')).toBe(0);

  const refused = start({ cwd, env: { ...env, ADMIN_TOKEN_FILE: join(cwd, 'none') } });
  expect(await exitCode(refused)).toBe(2);
  expect(refused.output()).toContain('ADMIN_TOKEN_FILE');
}, 180_000);

test('workers that start at once place the image library once, for their user alone', async () => {
  const cache = await folder('cache');
  const workers = [1, 2, 3, 4].map(() => startWorker({ XDG_CACHE_HOME: cache }));
  for (const worker of workers) await worker.says(/"ready":true/);
  for (const worker of workers) expect(await mapped(worker.child.pid)).toStartWith(cache);
  for (const worker of workers) await worker.end('SIGKILL');
  const native = join(cache, 'picpool', 'native');
  expect((await stat(native)).mode & 0o777).toBe(0o700);
  const [version = '', ...more] = await readdir(native);
  expect(more).toEqual([]);
  const files = await readdir(join(native, version), { recursive: true });
  expect(files.filter((name) => /\.(node|so|dylib)/.test(name))).toHaveLength(2);
});

test('what another user planted or this one altered is never loaded', async () => {
  const own = await folder('own');
  const first = startWorker({ XDG_CACHE_HOME: own });
  await first.says(/"ready":true/);
  const library = await mapped(first.child.pid);
  await first.end('SIGKILL');
  const bytes = await readFile(library);

  // The right bytes, which their owner could change at any time after the check.
  const planted = join(scratch, 'planted');
  await cp(own, planted, { recursive: true });
  await chmod(planted, 0o755);
  for (const name of [
    'picpool',
    ...(await readdir(join(planted, 'picpool'), { recursive: true })).map((one) => join('picpool', one)),
  ]) {
    const path = join(planted, name);
    if (OTHER_USER === undefined) await chmod(path, 0o777);
    else await chown(path, OTHER_USER - 1, OTHER_USER - 1).then(() => chmod(path, 0o777));
  }
  const wary = startWorker({ XDG_CACHE_HOME: planted, TMPDIR: await folder('wary') });
  await wary.says(/"ready":true/);
  expect(await mapped(wary.child.pid)).toStartWith(join(scratch, 'wary'));
  await wary.end('SIGKILL');

  await chmod(library, 0o700);
  await writeFile(library, 'altered');
  const mended = startWorker({ XDG_CACHE_HOME: own });
  await mended.says(/"ready":true/);
  expect(await mapped(mended.child.pid)).toBe(library);
  await mended.end('SIGKILL');
  expect((await readFile(library)).equals(bytes)).toBe(true);
});

test('a faulty setting stops it with exit code 2', async () => {
  const faulty = start({ cwd: '/', env: { PORT: 'many' } });
  expect(await exitCode(faulty)).toBe(2);
  expect(faulty.output()).toContain('PORT');
});

function startWorker(env: Record<string, string>) {
  return start({
    args: ['convert-worker'],
    cwd: '/',
    env: { DATA_DIR: '/nonexistent', ...env },
  });
}

async function exitCode({ child }: RunningBinary): Promise<number | null> {
  if (child.exitCode === null) await new Promise((resolve) => child.once('close', resolve));
  return child.exitCode;
}

async function residentBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** The file of libvips that a process has loaded. */
async function mapped(pid: number | undefined): Promise<string> {
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8');
  return /\/\S*libvips-cpp\S*/.exec(maps)?.[0] ?? '';
}
