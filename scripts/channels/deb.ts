import { strict as assert } from 'node:assert';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { run } from '../../test/support/run.ts';
import { type Channel, ready, SETTINGS, type World } from './channel.ts';
import { debianRoot } from './debian.ts';

/** The Debian package, in a Debian of its own that systemd runs. */
export async function debChannel({ release, scratch, version, older }: World): Promise<Channel> {
  const name = `picpool-deb-${process.pid}`;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const deb = join(release, `picpool_${version}_amd64.deb`);
  const inside = (...command: string[]) => run(['podman', 'exec', name, ...command]);
  const shell = (script: string) => inside('sh', '-c', script);
  let token: string;

  return {
    name: 'Debian package',
    needs: ['podman', 'runc', 'debootstrap', 'dpkg-deb'],
    url: () => url,
    token: () => token,
    steps: {
      async install() {
        const limits = ['--ulimit=nofile=1024:2048', '--ulimit=nproc=1024:1024'];
        const engine = [
          'podman',
          '--runtime=runc',
          'run',
          '--rm',
          '--detach',
          '--name',
          name,
          '--systemd=always',
          '--network=host',
        ];
        await run([...engine, ...limits, '--rootfs', `${await debianRoot()}:O`, '/sbin/init']);
        await shell('until systemctl is-system-running --wait; do sleep 0.1; done');
        // Nothing of this machine is to be asked for lists and judges.
        const settings = Object.entries({ ...SETTINGS, PORT: port, IMAGE_SANDBOX: 'require' });
        const dropIn = `[Service]\n${settings.map(([key, value]) => `Environment=${key}=${value}\n`).join('')}`;
        await writeFile(join(scratch, 'drop-in.conf'), dropIn);
        const place = '/etc/systemd/system/picpool.service.d';
        await inside('mkdir', '-p', place);
        await run(['podman', 'cp', join(scratch, 'drop-in.conf'), `${name}:${place}/test.conf`]);
        await run([
          'podman',
          'cp',
          await olderDeb(deb, join(scratch, 'deb'), older),
          `${name}:/root/older.deb`,
        ]);
        await run(['podman', 'cp', deb, `${name}:/root/picpool.deb`]);
        await inside('dpkg', '-i', '/root/older.deb');
        token = await inside('cat', '/etc/picpool/admin-token');
        assert.match(token, /^[0-9a-f]{64}$/);
        const modes = await inside(
          'stat',
          '-c',
          '%a %U:%G',
          '/etc/picpool/env',
          '/etc/picpool/admin-token',
          '/var/lib/picpool',
        );
        assert.equal(modes, '640 root:picpool\n600 root:root\n700 picpool:picpool');
        assert.equal(await inside('dpkg', '--verify', 'picpool'), '');
        return `dpkg -i, ${older}: user, unit, settings, token`;
      },
      async start() {
        await ready(url);
        assert.equal(await inside('systemctl', 'is-active', 'picpool'), 'active');
        assert.match(await inside('journalctl', '-u', 'picpool'), /sandbox +full/);
        // The administrator has a token here, so that a stranger may not refresh.
        const headers = { authorization: `Bearer ${token}` };
        assert.equal((await fetch(`${url}/api/refresh`, { method: 'POST' })).status, 401);
        assert.equal((await fetch(`${url}/api/refresh`, { method: 'POST', headers })).status, 202);
        return 'by systemd, conversions in the full sandbox';
      },
      async upgrade() {
        await shell('echo "# a line of the administrator" >>/etc/picpool/env');
        await inside('dpkg', '-i', '/root/picpool.deb');
        await ready(url);
        assert.match(await inside('cat', '/etc/picpool/env'), /a line of the administrator/);
        assert.equal(await inside('cat', '/etc/picpool/admin-token'), token);
        assert.match(
          await inside('dpkg', '-s', 'picpool'),
          new RegExp(`^Version: ${RegExp.escape(version)}$`, 'm'),
        );
        await shell(
          'install -d -o picpool -g picpool /srv/backups && echo PICPOOL_BACKUP_TARGET=/srv/backups >>/etc/picpool/env',
        );
        await inside('systemctl', 'start', 'picpool-backup');
        await shell('find /srv/backups -name "records_*.db" | grep .');
        return `${older} to ${version}: settings, token and picture are there; a backup to another folder`;
      },
      async remove() {
        await inside('dpkg', '-r', 'picpool');
        assert.equal(
          await fetch(url).then(
            () => 'answers',
            () => 'gone',
          ),
          'gone',
        );
        await shell('test ! -e /usr/bin/picpool && test -e /etc/picpool/env');
        const said = await inside('dpkg', '-P', 'picpool');
        assert.match(said, /are kept/);
        await shell(
          'test ! -e /etc/picpool && test -e /var/lib/picpool/picpool.db && test ! -e /lib/systemd/system/picpool.service',
        );
        return 'dpkg -r keeps the settings, -P nothing but pictures and records';
      },
    },
    async close() {
      await run(['podman', 'rm', '--force', '--time', '0', name]).catch(() => {});
    },
  };
}

/** The same package with a lower version. */
async function olderDeb(deb: string, folder: string, version: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await run(['dpkg-deb', '--raw-extract', deb, join(folder, 'tree')]);
  const control = join(folder, 'tree/DEBIAN/control');
  await writeFile(
    control,
    (await readFile(control, 'utf8')).replace(/^Version: .*$/m, `Version: ${version}`),
  );
  await run([
    'dpkg-deb',
    '--root-owner-group',
    '-Zgzip',
    '-z1',
    '--build',
    join(folder, 'tree'),
    join(folder, 'older.deb'),
  ]);
  return join(folder, 'older.deb');
}
