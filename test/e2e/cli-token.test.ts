import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli, cliCommand, cliEnvironment } from '../support/servers/cli.ts';
import { startServer } from '../support/servers/server-process.ts';
import { withFolder } from '../support/temporary.ts';

test('picpool token makes, lists and revokes tokens beside a running server', async () => {
  await withFolder(async (folder) => {
    const env = { DATA_DIR: folder };
    const early = await cli(['token', 'list'], { env });
    expect([early.code, early.stderr]).toEqual([2, expect.stringContaining('There is no database at')]);
    const server = await startServer('bun', {}, folder);
    try {
      const made = await cli(['token', 'create', 'laptop', '--rate', '60/0.4s', '--quota', '1GiB/365d'], {
        env,
      });
      expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^picpool_[\w-]{43}\n$/)]);
      const unseen = ['sh', '-c', '"$@" | true', 'sh', ...cliCommand(['token', 'create', 'unseen'])];
      await Bun.spawn(unseen, { env: cliEnvironment(env) }).exited;
      const closed = ['sh', '-c', '"$@" >&-', 'sh', ...cliCommand(['token', 'create', 'unseen'])];
      expect(await Bun.spawn(closed, { env: cliEnvironment(env), stderr: 'ignore' }).exited).toBe(2);
      const database = new Database(join(folder, 'picpool.db'));
      database.run("CREATE TRIGGER stuck BEFORE UPDATE ON state BEGIN SELECT RAISE(ABORT, 'stuck'); END");
      const stuck = Bun.spawn(unseen, { env: cliEnvironment(env), stderr: 'pipe' });
      expect(await stuck.stderr.text()).toContain('unseen can be neither printed nor revoked');
      database.run('DROP TRIGGER stuck');
      database.close();
      expect((await cli(['token', 'revoke', 'unseen'], { env })).code).toBe(0);
      const again = await cli(['token', 'create', 'laptop'], { env });
      expect([again.code, again.stderr]).toEqual([1, 'picpool: There is already a token named laptop.\n']);
      const listed = await cli(['token', 'list'], { env, runtime: 'deno' });
      expect(listed.stdout).toMatch(
        /^[0-9a-f]{12} {2}upload {3}\S+ \S+ {2}laptop {2}rate 60\/0.4s {2}quota 1 GiB\/365d {2}unused\n$/,
      );
      expect(listed.stdout).not.toContain(made.stdout.trim());
      const untold = { ...env, AUDIT_LOG: join(folder, 'none', 'acts') };
      const revoked = await cli(['token', 'revoke', 'laptop'], { env: untold });
      expect([revoked.code, revoked.stderr.split('\n').length]).toEqual([0, 3]);
      expect(revoked.stderr).toMatch(/ENOENT.*\n.* is revoked/);
      expect((await cli(['token', 'list'], { env })).stdout).toBe('');
      const gone = await cli(['token', 'revoke', 'laptop'], { env });
      expect([gone.code, gone.stderr]).toEqual([1, 'picpool: There is no token named laptop.\n']);
      const { stdout: acts } = await cli(['log', '--last', '2'], { env });
      expect(acts).toMatch(/"what":"refused".*"why":"not_found"|"why":"not_found".*"what":"refused"/);
    } finally {
      await server.stop();
    }
    for (const args of [
      ['token'],
      ['token', 'make', 'x'],
      ['token', 'create'],
      ['token', 'create', 'a b'],
      ['token', 'list', 'x'],
      ['token', 'create', 'x', '--role', 'king'],
    ]) {
      expect([args, (await cli(args, { env })).code]).toEqual([args, 2]);
    }
  });
}, 180_000);

test('--settings names the file of an installed service, whose stores a command then uses', async () => {
  await withFolder(async (folder) => {
    const server = await startServer('bun', {}, join(folder, 'data'));
    const file = join(folder, 'env');
    await writeFile(file, `# installed\nDATA_DIR=${server.folder}\n`);
    const env = { DATA_DIR: join(folder, 'another') };
    expect((await cli(['--settings', file, 'token', 'create', 'laptop'], { env })).code).toBe(0);
    const listed = await cli([`--settings=${file}`, 'token', 'list'], { env });
    expect(listed.stdout).toContain('laptop');
    const missing = await cli(['--settings', join(folder, 'none'), 'token', 'list'], { env });
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining(`${folder}/none cannot`)]);
    for (const [line, text, encoding] of [
      [1, 'UPLOAD=token\n', 'utf16le'],
      [6, '\uFEFFPORT=3000\r\n; old\nNOTE="two\nlines"\n\nUPLOAD token\n', 'utf8'],
    ] as const) {
      await writeFile(file, text, encoding);
      const { code, stderr } = await cli(['--settings', file, 'config'], { env });
      expect([code, stderr]).toEqual([2, expect.stringContaining(`cannot (line ${line} is neither`)]);
    }
    await server.stop();
  });
}, 60_000);
