import { expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { withFolder } from '../support/temporary.ts';

const unit = await Bun.file('examples/picpool.service').text();
const valuesOf = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

test('the unit passes the administrator token as a credential, blocks cloud metadata addresses, and does not start again what cannot work', () => {
  expect(valuesOf('LoadCredential')).toEqual(['admin-token:/etc/picpool/admin-token']);
  expect(valuesOf('Environment')).toContain('ADMIN_TOKEN_FILE=%d/admin-token');
  expect(valuesOf('IPAddressDeny')[0]?.split(' ')).toContain('169.254.169.254');
  expect(valuesOf('RestartPreventExitStatus')).toEqual(['2 3']);
});

test.skipIf(absent('systemd-analyze'))('systemd finds nothing wrong with the units', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'picpool.service');
    await writeFile(path, unit.replace('/usr/local/bin/picpool serve', '/bin/true serve'));
    const backup = ['service', 'timer'].map((kind) => join(folder, `picpool-backup.${kind}`));
    for (const [index, name] of ['picpool-backup.service', 'picpool-backup.timer'].entries()) {
      const text = await Bun.file(`scripts/build/deb/${name}`).text();
      await writeFile(backup[index] ?? '', text.replace('/usr/bin/picpool', '/bin/true'));
    }
    const verify = Bun.spawn(['systemd-analyze', 'verify', path, ...backup], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = (await new Response(verify.stdout).text()) + (await new Response(verify.stderr).text());
    const about = said.split('\n').filter((line) => line.includes('picpool'));
    expect([await verify.exited, about]).toEqual([0, []]);
  }),
);
