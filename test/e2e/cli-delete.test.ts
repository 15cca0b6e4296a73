import { expect, test } from 'bun:test';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { cli } from '../support/cli.ts';
import { PNG } from '../support/running-server.ts';
import { startServer } from '../support/server-process.ts';
import { withFolder } from '../support/temporary.ts';

test(
  'what was uploaded from here is deleted from here, with the token that was kept for the owner alone',
  () =>
    withFolder(async (folder) => {
      const server = await startServer('bun', { SERVICES: 'image', IMAGE_DELETE_BY_ADDRESS: 'off' }, folder);
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
        expect(await readFile(path, 'utf8')).toBe('');

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
