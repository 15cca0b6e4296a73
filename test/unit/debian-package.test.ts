import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packagedUnit } from '../../scripts/build/deb.ts';
import { parseConfig } from '../../src/config.ts';
import { cli } from '../support/servers/cli.ts';
import { sharedFolder } from '../support/shared.ts';

const folder = await sharedFolder();
const unit = packagedUnit(await readFile('examples/picpool.service', 'utf8'));

test('the unit of the Debian package has a permanent user, the package settings, and the hardening of the example', async () => {
  const lines = unit.split('\n');
  for (const line of [
    'ExecStart=/usr/bin/picpool serve',
    'EnvironmentFile=-/etc/picpool/env',
    'User=picpool',
    'StateDirectory=picpool',
    'LoadCredential=admin-token:/etc/picpool/admin-token',
  ]) {
    expect(lines).toContain(line);
  }
  expect(unit).not.toContain('DynamicUser');
  expect(unit).not.toContain('/usr/local');
  const example = await readFile('examples/picpool.service', 'utf8');
  for (const line of example.matchAll(/^(Protect|Restrict|Private|SystemCall|Capability)\w+=.*$/gm)) {
    expect(lines).toContain(line[0]);
  }
});

test('the timer of the Debian package starts a backup with the settings and the store of the service', async () => {
  const backup = await readFile('scripts/build/deb/picpool-backup.service', 'utf8');
  expect(backup).toMatch(/^EnvironmentFile=-\/etc\/picpool\/env$/m);
  const [, target, keep, data] =
    /^Environment=PICPOOL_BACKUP_TARGET=(\S+) PICPOOL_BACKUP_KEEP=(\S+) DATA_DIR=(\S+)$/m.exec(backup) ?? [];
  expect([target, keep, data]).toEqual(['/var/backups/picpool', '14', '/var/lib/picpool']);
  const [, line = ''] = /^ExecStart=\/usr\/bin\/picpool (.*)$/m.exec(backup) ?? [];
  const words = line
    .replace(/\$\{PICPOOL_BACKUP_TARGET\}/, '/nowhere')
    .replace(/\$\{PICPOOL_BACKUP_KEEP\}/, '14')
    .split(' ');
  const { stderr } = await cli(words, { env: { DATA_DIR: '/nowhere' } });
  expect(stderr).toContain('There is no database at /nowhere');
});

test('the settings of the Debian package are valid, also those in comments, and listen only on loopback', async () => {
  const text = await readFile('scripts/build/deb/env', 'utf8');
  const settings = (pattern: RegExp) =>
    Object.fromEntries([...text.matchAll(pattern)].map(([, name = '', value = '']) => [name, value]));
  expect(parseConfig(settings(/^([A-Z_]+)=(.*)$/gm)).HOST).toBe('127.0.0.1');
  expect(parseConfig(settings(/^#?([A-Z_]+)=(.*)$/gm)).TRUSTED_PROXIES).toBeDefined();
});

test.each(['postinst', 'prerm', 'postrm'])(
  'the shell can read the %s of the Debian package',
  async (name) => {
    const shell = Bun.spawn(['sh', '-n', `scripts/build/deb/${name}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    expect([await shell.exited, await shell.stderr.text()]).toEqual([0, '']);
  },
);

test('an installation that finds the disk full leaves no empty admin token behind, and the next one makes it', async () => {
  const text = await readFile('scripts/build/deb/postinst', 'utf8');
  const [make = ''] = /^if [^\n]*admin-token.*?^fi$/ms.exec(text) ?? [];
  const script = `set -e\n${make.replaceAll('/etc/picpool', folder)}\n`;
  const install = (limit: string) => Bun.spawn(['sh', '-c', limit + script], { stderr: 'ignore' }).exited;
  const token = () => readFile(join(folder, 'admin-token'), 'utf8').catch(() => null);
  // Nothing can be written.
  expect([(await install('ulimit -f 0; trap "" XFSZ; ')) === 0, await token()]).toEqual([false, null]);
  expect([await install(''), await token()]).toEqual([0, expect.stringMatching(/^[0-9a-f]{64}$/)]);
  const made = await token();
  expect([await install(''), await token()]).toEqual([0, made]);
});
