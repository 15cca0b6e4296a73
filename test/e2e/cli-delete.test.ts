import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { openKeptTokens } from '../../src/cli/kept-tokens.ts';
import { cli } from '../support/servers/cli.ts';
import { PNG } from '../support/servers/running-server.ts';
import { LIGHT, startServer } from '../support/servers/server-process.ts';
import { withFolder } from '../support/temporary.ts';

const PICTURE = 'test/fixtures/moving.avif';

test(
  'what was uploaded from here is deleted from here, with the token that was kept for the owner alone',
  () =>
    withFolder(async (folder) => {
      const server = await startServer(
        'bun',
        { ...LIGHT, SERVICES: 'image', IMAGE_DELETE_BY_ADDRESS: 'off' },
        folder,
      );
      const env = { PICPOOL_URL: server.url, XDG_CONFIG_HOME: join(folder, 'config') };
      const upload = async (runtime: 'bun' | 'deno', more: string[] = []) => {
        const stdin = new Blob([new Uint8Array(PNG)]);
        const { code, stdout } = await cli(['upload', ...more, '-'], { env, stdin, runtime });
        expect(code).toBe(0);
        return stdout.trim();
      };
      try {
        const [page, raw] = [await upload('bun'), await upload('deno', ['--print', 'raw_url'])];
        const path = join(folder, 'config/picpool/tokens');
        expect([(await stat(path)).mode & 0o777, (await stat(join(path, '..'))).mode & 0o777]).toEqual([
          0o600, 0o700,
        ]);
        expect((await readFile(path, 'utf8')).split('\n')).toHaveLength(3);

        const stranger = await cli(['delete', page], {
          env: { ...env, XDG_CONFIG_HOME: join(folder, 'other') },
        });
        expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringContaining('(403)')]);
        const deleted = await cli(['delete', page, raw], { env });
        expect([deleted.code, deleted.stdout, deleted.stderr]).toEqual([
          0,
          expect.stringMatching(/^(\w{12}\n){2}$/),
          '',
        ]);
        for (const link of [page, raw]) expect((await fetch(link)).status).toBe(404);
        const tokens = openKeptTokens(env);
        for (const link of [page, raw]) {
          const id = /\w{12}/.exec(link.split('/i/')[1] ?? '')?.[0] ?? '';
          expect(await tokens?.find({ server: server.url, id })).toBeNull();
        }

        const again = await cli(['delete', page, 'nonsense'], { env, runtime: 'deno' });
        expect(again.code).toBe(1);
        expect(again.stderr).toContain('(404)');
        expect(again.stderr).toContain('nonsense: This is neither a link to an image nor an ID.');
      } finally {
        await server.stop();
      }
    }),
  180_000,
);

test('a token that was kept while others were forgotten is found', () =>
  withFolder(async (folder) => {
    const tokens = openKeptTokens({ XDG_CONFIG_HOME: folder });
    const named = (id: string) => ({ server: 'http://localhost:3000', id });
    const ids = Array.from({ length: 200 }, (_, index) => `id${index}`);
    for (const id of ids.slice(0, 100)) await tokens?.keep(named(id), 'old');
    await Promise.all(
      ids.map((id, index) => (index < 100 ? tokens?.forget(named(id)) : tokens?.keep(named(id), 'new'))),
    );
    const found = await Promise.all(ids.map((id) => tokens?.find(named(id))));
    expect(found).toEqual(ids.map((_, index) => (index < 100 ? null : 'new')));
  }));

/** A program that is not picpool, and answers everything the same way. */
async function withStranger(answer: () => Response, work: (url: string) => Promise<void>): Promise<void> {
  const stranger = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
  await work(stranger.url.href.replace(/\/$/, '')).finally(() => stranger.stop(true));
}

const page = () => new Response('<html>Log in</html>', { headers: { 'content-type': 'text/html' } });

test.each([
  ['a page', page],
  ['an empty object', () => Response.json({})],
  ['a success without fields', () => Response.json({ success: true })],
  ['a failure', () => Response.json({ success: false, id: 'abcdefghijkl', removed: 1, freed_bytes: 1 })],
] as const)('every command refuses %s from another program, and forgets nothing', (_, answer) =>
  withFolder((folder) =>
    withStranger(answer, async (url) => {
      const env = { PICPOOL_URL: url, XDG_CONFIG_HOME: folder };
      const image = { server: url, id: 'abcdefghijkl' };
      await openKeptTokens(env)?.keep(image, 'token');
      const commands = [
        ...[['delete', image.id], ['cleanup'], ['refresh', '--detach'], ['upload', PICTURE]],
        ['upload', '--album', 'title', PICTURE],
        ...(answer === page ? [['export'], ['export', '--format', 'json']] : []),
      ];
      for (const args of commands) {
        const { code, stdout, stderr } = await cli(args, { env });
        expect([args, code, stdout]).toEqual([args, 1, '']);
        expect(stderr).toContain('is not one of picpool');
      }
      expect(await openKeptTokens(env)?.find(image)).toBe('token');
    }),
  ),
);

test('an upload whose response breaks off is reported in a sentence', () =>
  withFolder(async (folder) => {
    const cut = createServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n{"success":', () => socket.end());
      });
    });
    cut.listen(0, '127.0.0.1');
    await once(cut, 'listening');
    const { port } = cut.address() as AddressInfo;
    const env = { PICPOOL_URL: `http://127.0.0.1:${port}`, XDG_CONFIG_HOME: folder };
    const { code, stdout, stderr } = await cli(['upload', PICTURE], { env });
    cut.close();
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      expect.stringMatching(/was cut off .*may have been done/),
    ]);
    expect(stderr.split('\n')).toHaveLength(2);
  }));
