import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { json } from '../support/json.ts';
import { QUIET } from '../support/servers/quiet-server.ts';
import { PNG } from '../support/servers/running-server.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

const ENV = { ...QUIET, LOG_LEVEL: 'error' };

const upload = (url: string) => fetch(`${url}/api/upload`, { method: 'POST', body: PNG });

/** Clients that upload and read until they are told to stop, and note what was acknowledged. */
function startLoad(url: string, clients: number) {
  const stored: string[] = [];
  const unexpected: string[] = [];
  let stopped = false;
  async function run(client: number): Promise<void> {
    for (let turn = client; !stopped; turn++) {
      try {
        if (turn % 3 === 0) {
          const answer = await upload(url);
          if (answer.status === 201) stored.push(String((await json(answer)).id));
          else if (![429, 503].includes(answer.status)) unexpected.push(`upload ${answer.status}`);
        } else {
          const path = turn % 3 === 1 ? '/api/v1/proxies?limit=20' : '/api/list';
          const answer = await fetch(url + path);
          await answer.arrayBuffer();
          if (answer.status !== 200 && answer.status !== 503) unexpected.push(`${path} ${answer.status}`);
        }
      } catch {
        // The connection was refused or cut: the server has gone, as it should.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
  const running = Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  return {
    stored,
    unexpected,
    async until(uploads: number) {
      while (stored.length < uploads) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async stop() {
      stopped = true;
      await running;
    },
  };
}

async function expectAllThere({ url }: ServerProcess, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const info = await fetch(`${url}/api/info/${id}`);
    expect(info.status).toBe(200);
    const { raw_url, size } = await json(info);
    const file = await fetch(new URL(new URL(String(raw_url)).pathname, url));
    expect([file.status, (await file.arrayBuffer()).byteLength]).toEqual([200, Number(size)]);
  }
}

test(
  'a locked database: writes are answered 503, reads go on, and writes again when it is free',
  () =>
    withFolder(async (folder) => {
      const server = await startServer('bun', ENV, folder);
      expect((await upload(server.url)).status).toBe(201);
      const other = new Database(join(folder, 'picpool.db'));
      other.run('BEGIN IMMEDIATE');
      const refused = await upload(server.url);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      for (const path of ['/api/list', '/api/v1/proxies', '/livez', '/readyz']) {
        expect((await fetch(server.url + path)).status).toBe(200);
      }
      other.run('ROLLBACK');
      other.close();
      expect((await upload(server.url)).status).toBe(201);
      expect(await server.stop()).toBe(0);
    }),
  180_000,
);

const FEW_FILES = ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh'];

/** More clients than such a server has files. */
const crowd = ({ url }: ServerProcess) =>
  Array.from({ length: 400 }, () =>
    connect(Number(new URL(url).port), new URL(url).hostname).on('error', () => {}),
  );

const isReady = ({ url }: ServerProcess) =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1000) }).then(
    ({ ok }) => ok,
    () => false,
  );

test.each(['bun', 'deno'] as const)(
  '256 file descriptors: more clients than that end neither the server on %s nor what others are sending',
  async (runtime) => {
    const server = await startServer(runtime, ENV, undefined, FEW_FILES);
    const { hostname, port } = new URL(server.url);
    const early = connect(Number(port), hostname);
    let said = '';
    early.on('data', (bytes) => {
      said += bytes;
    });
    early.write(`POST /api/upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${PNG.length}\r\n\r\n`);
    early.write(PNG.subarray(0, 9));
    expect(await isReady(server)).toBe(true);
    const sockets = crowd(server);
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const socket of sockets) socket.destroy();
    // What was accepted late is also closed late.
    await until(() => isReady(server));
    expect((await upload(server.url)).status).toBe(201);
    const stopped = server.stop();
    await until(async () => !(await isReady(server)));
    // By then, it ends what it can end.
    await new Promise((resolve) => setTimeout(resolve, 500));
    early.write(PNG.subarray(9));
    expect(await stopped).toBe(0);
    expect(said).toStartWith('HTTP/1.1 201 ');
  },
  180_000,
);

test('a server on Deno whose port another program takes while the files are used up ends, so that it is started again', async () => {
  const server = await startServer('deno', ENV, undefined, FEW_FILES);
  const { hostname, port } = new URL(server.url);
  const sockets = crowd(server);
  const other = createServer();
  await until(
    () =>
      new Promise<boolean>((resolve) => {
        other.once('error', () => resolve(false)).listen(Number(port), hostname, () => resolve(true));
      }),
  );
  for (const socket of sockets) socket.destroy();
  expect(await server.exited).not.toBe(0);
  expect(server.stderr()).toContain('AddrInUse');
  other.close();
  await server.stop();
}, 60_000);

describe.each(['bun', 'deno'] as const)('on %s', (runtime) => {
  test(
    'kill -9 under load: the next start needs no repair, and nothing acknowledged is lost',
    () =>
      withFolder(async (folder) => {
        let server = await startServer(runtime, ENV, folder);
        const stored: string[] = [];
        for (let round = 0; round < 2; round++) {
          const load = startLoad(server.url, 10);
          await fetch(`${server.url}/api/refresh`, { method: 'POST' });
          await load.until(5);
          server.kill('SIGKILL');
          await server.exited;
          await load.stop();
          stored.push(...load.stored);
          expect(load.unexpected).toEqual([]);
          server = await startServer(runtime, ENV, folder);
          expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
          expect((await fetch(`${server.url}/api/v1/proxies`)).status).toBe(200);
        }
        await expectAllThere(server, stored);
        expect(await server.stop()).toBe(0);
      }),
    180_000,
  );
});
