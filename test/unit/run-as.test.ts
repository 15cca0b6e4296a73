import { describe, expect, test } from 'bun:test';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkOwner, findAccount, runAs } from '../../src/start/user.ts';

const PASSWD = `root:x:0:0:root:/root:/bin/bash
picpool:x:990:991:,,,:/var/lib/picpool:/usr/sbin/nologin
`;
const GROUP = `root:x:0:
picpool:x:991:
media:x:44:mail,picpool
video:x:45:mail
`;

describe('RUN_AS', () => {
  test('finds a user by name or number, with all groups', () => {
    const account = { name: 'picpool', uid: 990, gid: 991, groups: [991, 44] };
    expect(findAccount('picpool', PASSWD, GROUP)).toEqual(account);
    expect(findAccount('990', PASSWD, GROUP)).toEqual(account);
    expect(findAccount('pic', PASSWD, GROUP)).toBeNull();
  });

  test('refuses unknown users, and root', async () => {
    await expect(runAs('no-such-user')).rejects.toThrow('there is no user "no-such-user"');
    await expect(runAs('root')).rejects.toThrow('it names root');
  });

  test('changes the user permanently, in every thread, without the groups of root', async () => {
    if (process.geteuid?.() !== 0) return;
    const script = `
      const { runAs } = await import('${import.meta.dir}/../../src/start/user.ts');
      const { readdirSync, readFileSync } = await import('node:fs');
      await runAs('nobody');
      const status = (task) => readFileSync('/proc/self/task/' + task + '/status', 'utf8');
      const lines = readdirSync('/proc/self/task').map((task) => /Uid:.*\\nGid:.*/.exec(status(task))?.[0] + /CapEff:.*/.exec(status(task))?.[0]);
      let back = true;
      try { process.setuid(0); } catch { back = false; }
      console.log(JSON.stringify({ lines: [...new Set(lines)], groups: process.getgroups(), back }));`;
    const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' });
    const told = JSON.parse(await new Response(child.stdout).text());
    expect(told).toMatchObject({ groups: [65_534], back: false });
    expect(told.lines).toEqual([
      `Uid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534CapEff:\t0000000000000000`,
    ]);
  });

  test('names the command that fixes a folder of another user', async () => {
    if (process.geteuid?.() !== 0) return;
    const folder = await mkdtemp(join(tmpdir(), 'picpool-owner-'));
    await chmod(folder, 0o700);
    const script = `
      const { checkOwner, runAs } = await import('${import.meta.dir}/../../src/start/user.ts');
      await runAs('nobody');
      await checkOwner('${folder}', 'nobody').catch((error) => console.log(error.message));`;
    const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' });
    expect(await new Response(child.stdout).text()).toContain(`As root: chown -R nobody: ${folder}`);
    await checkOwner(folder, 'root');
    await rm(folder, { recursive: true });
  });
});
