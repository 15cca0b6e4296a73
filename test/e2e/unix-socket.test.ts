import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { lstat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { cli } from '../support/servers/cli.ts';
import { PNG } from '../support/servers/running-server.ts';
import { LIGHT, type RuntimeName, startServer } from '../support/servers/server-process.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

/** A request over the socket, as a proxy sends it for the visitor with that address. */
function ask(
  socketPath: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: Uint8Array,
) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const asked = request({ socketPath, method, path, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      answer.on('end', () => resolve({ status: answer.statusCode, text }));
    });
    asked.on('error', reject).end(body);
  });
}

for (const runtime of ['bun', 'deno'] as RuntimeName[]) {
  test(`on ${runtime} the server listens on a socket, and trusts what comes through it`, async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'http.sock');
      const env = {
        HOST: `unix:${path}`,
        SERVICES: 'image',
        ...LIGHT,
        DATA_DIR: join(folder, 'data'),
      };
      const server = await startServer(runtime, env);
      expect(server.url).toBe(env.HOST);
      expect((await lstat(path)).mode & 0o777).toBe(0o660);
      const from = (address: string) => ({
        host: 'img.example',
        'x-forwarded-for': address,
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'img.example',
      });
      const stored = await ask(path, 'POST', '/api/upload', from('198.51.100.7'), PNG);
      expect(stored.status).toBe(201);
      const { id, url } = JSON.parse(stored.text);
      expect(url).toBe(`https://img.example/i/${id}`);
      const remove = (headers: Record<string, string>) => ask(path, 'DELETE', `/api/delete/${id}`, headers);
      expect((await remove({ host: 'img.example' })).status).toBe(403);
      expect((await remove(from('198.51.100.7, 203.0.113.9'))).status).toBe(403);
      expect((await remove(from('198.51.100.7'))).status).toBe(200);
      expect((await cli(['health'], { env, runtime })).code).toBe(0);
      const second = await startServer(runtime, env).catch(String);
      expect(second).toContain('Another server already listens');
      // A socket that was left behind is replaced.
      server.kill('SIGKILL');
      await server.exited;
      const next = await startServer(runtime, env, undefined, ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh']);
      expect((await cli(['health'], { env, runtime })).code).toBe(0);
      // Nor do more clients than files end it, or change who may connect.
      const clients = Array.from({ length: 400 }, () => connect(path).on('error', () => {}));
      await once(clients[399] as Socket, 'connect').catch(() => {});
      for (const client of clients) client.destroy();
      await until(async () => (await cli(['health'], { env, runtime })).code === 0);
      expect((await lstat(path)).mode & 0o777).toBe(0o660);
      expect(await next.stop()).toBe(0);
      await expect(lstat(path)).rejects.toThrow('ENOENT');
      await writeFile(path, 'a letter');
      expect(await startServer(runtime, env).catch(String)).toContain('is not a socket');
    });
  }, 180_000);
}
