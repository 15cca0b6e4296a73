import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { json } from '../support/json.ts';
import { QUIET } from '../support/servers/quiet-server.ts';
import { PNG } from '../support/servers/running-server.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
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

test.each(['bun', 'deno'] as const)(
  '256 file descriptors: more clients than that do not end the server on %s',
  async (runtime) => {
    const server = await startServer(runtime, ENV, undefined, ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh']);
    const { hostname, port } = new URL(server.url);
    const sockets: Socket[] = [];
    for (let count = 0; count < 400; count++) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      sockets.push(socket);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const socket of sockets) socket.destroy();
    // What was accepted late is also closed late.
    for (let tries = 0; tries < 100; tries++) {
      const answer = await fetch(`${server.url}/livez`, { signal: AbortSignal.timeout(1000) }).catch(
        () => null,
      );
      if (answer?.status === 200) break;
    }
    expect((await upload(server.url)).status).toBe(201);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    expect(await server.stop()).toBe(0);
  },
  180_000,
);

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
