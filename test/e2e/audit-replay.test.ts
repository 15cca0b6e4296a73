import { expect, test } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ADMIN, ADMIN_TOKEN } from '../support/admin.ts';
import { cli } from '../support/servers/cli.ts';
import { PNG } from '../support/servers/running-server.ts';
import { LIGHT, startServer } from '../support/servers/server-process.ts';
import { withFolder } from '../support/temporary.ts';

test(
  'after the restore of an older backup, the audit log outside the store deletes, blocks and revokes again',
  () =>
    withFolder(async (folder) => {
      const [target, log] = [join(folder, 'backups'), join(folder, 'acts.jsonl')];
      await mkdir(target);
      const settings = { ...LIGHT, ADMIN_TOKEN, SERVICES: 'image', AUDIT_LOG: log };
      const upload = async (url: string, format: string) => {
        const answer = await fetch(`${url}/api/upload?format=${format}`, { method: 'POST', body: PNG });
        return (await answer.json()) as { id: string };
      };
      const first = await startServer('bun', settings, join(folder, 'data'));
      const [early, late, kept] = [
        await upload(first.url, 'webp'),
        await upload(first.url, 'png'),
        await upload(first.url, 'gif'),
      ];
      const remove = (id: string) =>
        fetch(`${first.url}/api/delete/${id}?reason=spam`, { method: 'DELETE', headers: ADMIN });
      await remove(early.id);
      const env = { ...settings, DATA_DIR: join(folder, 'data') };
      const token = async (...words: string[]) => {
        const { code, stdout } = await cli(['token', ...words], { env });
        expect(code).toBe(0);
        return stdout.trim();
      };
      await token('create', 'replaced', '--role', 'admin');
      await token('revoke', 'replaced');
      const [leaked, good] = [
        await token('create', 'leaked', '--role', 'admin'),
        await token('create', 'replaced', '--role', 'admin'),
      ];
      expect((await cli(['backup', target], { env })).code).toBe(0);
      await token('revoke', 'leaked');
      expect((await remove(late.id)).status).toBe(200);
      const blocked = await fetch(`${first.url}/api/admin/blocks`, {
        method: 'POST',
        headers: { ...ADMIN, 'content-type': 'application/json' },
        body: JSON.stringify({ network: '203.0.113.0/24', reason: 'spam' }),
      });
      expect(blocked.status).toBe(200);
      await first.stop();

      const restored = { ...settings, DATA_DIR: join(folder, 'restored') };
      const done = await cli(['restore', target, '--log', log], { env: restored });
      expect([done.code, done.stdout]).toEqual([
        0,
        expect.stringContaining('1 image left out, 1 token revoked and 1 block repeated'),
      ]);
      const again = await startServer('bun', settings, restored.DATA_DIR);
      try {
        const status = async (id: string) => (await fetch(`${again.url}/i/${id}`)).status;
        expect([await status(early.id), await status(late.id), await status(kept.id)]).toEqual([
          404, 404, 200,
        ]);
        const asked = async (bearer: string) => {
          const headers = { authorization: `Bearer ${bearer}` };
          return (await fetch(`${again.url}/api/admin/blocks`, { headers })).status;
        };
        expect([await asked(leaked), await asked(good)]).toEqual([401, 200]);
        const blocks = await (await fetch(`${again.url}/api/admin/blocks`, { headers: ADMIN })).text();
        expect(blocks).toContain('203.0.113.0/24');
        // The log itself is in the backup, as far as it went.
        const printed = await cli(['log'], { env: restored });
        expect(printed.stdout).toMatch(
          new RegExp(`^\\{"id":"[\\w-]+","time":"\\S+","what":"image.delete","subject":"image ${early.id}"`),
        );
      } finally {
        await again.stop();
      }
    }),
  120_000,
);
