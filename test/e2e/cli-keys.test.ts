import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { json } from '../support/json.ts';
import { cli, cliCommand, cliEnvironment } from '../support/servers/cli.ts';
import { PNG } from '../support/servers/running-server.ts';
import { LIGHT, startServer } from '../support/servers/server-process.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

interface Uploaded {
  url: string;
  delete_url: string;
}

test('picpool keys rotate changes keys under a running server, which loses nothing but what --forget takes', async () => {
  await withFolder(async (folder) => {
    const env = { DATA_DIR: folder };
    const server = await startServer('bun', { ...LIGHT, SERVICES: 'image' }, folder);
    try {
      const body = new Uint8Array(PNG);
      const stored = await fetch(`${server.url}/api/upload?password=tea`, { method: 'POST', body });
      const { url, delete_url } = await json<Uploaded>(stored);
      const unlocked = await fetch(url, { method: 'POST', body: new URLSearchParams({ password: 'tea' }) });
      const cookie = unlocked.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      const status = async () => (await fetch(url, { headers: { cookie } })).status;
      expect(await status()).toBe(200);

      const rotated = await cli(['keys', 'rotate'], { env });
      expect([rotated.code, rotated.stderr]).toEqual([0, '']);
      expect(rotated.stdout).toMatch(
        /^cookie-secret: the new key signs from .* UTC on\njudge-secret: the new key .*\n$/,
      );
      expect(await status()).toBe(200);
      using database = new Database(join(folder, 'picpool.db'));
      const keys = () => database.query("SELECT * FROM state WHERE key LIKE '%-secret'").values().flat();
      const before = keys();
      const unread = ['sh', '-c', '"$@" >/dev/full', 'sh', ...cliCommand(['keys', 'rotate'])];
      expect(await Bun.spawn(unread, { env: cliEnvironment(env), stderr: 'ignore' }).exited).toBe(1);
      expect(keys().map((text, index) => text === before[index])).toEqual([true, false, true, false]);
      expect((await cli(['keys', 'rotate', '--forget'], { env, runtime: 'deno' })).code).toBe(0);
      await until(async () => (await status()) === 401);
      const token = new URL(delete_url).searchParams.get('token') ?? '';
      expect((await fetch(delete_url, { method: 'POST', body: new URLSearchParams({ token }) })).status).toBe(
        200,
      );
      expect((await cli(['keys'], { env })).code).toBe(2);
      expect((await cli(['keys', 'list'], { env })).code).toBe(2);
    } finally {
      await server.stop();
    }
  });
}, 180_000);
