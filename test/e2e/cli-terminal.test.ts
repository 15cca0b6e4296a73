import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInTerminal } from '../support/clients/pty.ts';
import { cli } from '../support/servers/cli.ts';
import { PNG, type RunningServer, runServer } from '../support/servers/running-server.ts';

const RUNTIMES = ['bun', 'deno'] as const;

let server: RunningServer;
let picture: string;

beforeAll(async () => {
  server = await runServer({ SERVICES: 'image' });
  picture = join(await mkdtemp(join(tmpdir(), 'picpool-terminal-')), 'picture.png');
  await writeFile(picture, PNG);
});

afterAll(async () => {
  await server?.stop();
  await rm(join(picture, '..'), { recursive: true, force: true });
});

const uploaded = async (text: string, password: string) => {
  const id = /\/i\/(\w{12})/.exec(text)?.[1];
  const answer = await server.send(`/i/${id}.webp`, { headers: { 'x-image-password': password } });
  return answer.status;
};

test.each(RUNTIMES)('serve on %s tells a terminal where it is and what to do next', async (runtime) => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'picpool-terminal-'));
  const env = { DATA_DIR, HOST: '127.0.0.1', SERVICES: 'image', PUBLIC_URL: 'https://pics.example' };
  const running = runInTerminal(['--port', '0'], env, runtime);
  const shown = await running.shows('finds problems with this setup');
  const url = /listening +(http:\S+)/.exec(shown)?.[1];
  expect(await (await fetch(`${url}/livez`)).json()).toMatchObject({ success: true });
  expect(shown).toContain('Public address: https://pics.example\r\n');
  expect(shown).toContain('█');
  expect(shown).toContain(`upload --url ${url} photo.jpg`);
  running.kill('SIGTERM');
  expect(await running.exited).toBe(0);
  await rm(DATA_DIR, { recursive: true });
});

test.each(RUNTIMES)('a password is asked for on %s twice and never shown', async (runtime) => {
  const running = runInTerminal(['upload', '--url', server.url, '--ask-password', picture], {}, runtime);
  await running.shows('Password: ');
  running.type('tex\u007fa pot\r');
  await running.shows('Again: ');
  running.type('tea pot\r');
  expect(await running.exited).toBe(0);
  expect(running.shown()).not.toContain('pot');
  expect(await uploaded(running.shown(), 'tea pot')).toBe(200);
});

test('two passwords that differ, and Ctrl C, upload nothing', async () => {
  const args = ['upload', '--url', server.url, '--ask-password', picture];
  const differs = runInTerminal(args);
  await differs.shows('Password: ');
  differs.type('one\r');
  await differs.shows('Again: ');
  differs.type('two\r');
  expect([await differs.exited, differs.shown()]).toEqual([
    1,
    expect.stringContaining('passwords do not match'),
  ]);
  const interrupted = runInTerminal(args);
  await interrupted.shows('Password: ');
  interrupted.type('\u0003');
  expect(await interrupted.exited).toBe(130);
});

test('a password comes from a file, and from one place alone', async () => {
  const file = `${picture}.password`;
  await writeFile(file, 'tea pot\n');
  const upload = (...more: string[]) => cli(['upload', '--url', server.url, ...more, picture]);
  const good = await upload('--password-file', file);
  expect([good.code, await uploaded(good.stdout, 'tea pot')]).toEqual([0, 200]);
  const absent = await upload('--password-file', '/nowhere');
  expect([absent.code, absent.stderr]).toEqual([
    2,
    'picpool: --password-file must name a file that can be read, but /nowhere cannot (ENOENT).\nSee picpool upload --help.\n',
  ]);
  const both = await upload('--password-file', file, '--password=x');
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('Give only one of')]);
  const nobody = await upload('--ask-password');
  expect([nobody.code, nobody.stderr]).toEqual([2, expect.stringContaining('no terminal to ask')]);
});
