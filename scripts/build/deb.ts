import { copyFile, mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION } from '../../src/version.ts';
import { fillTree, LEVEL, put, run, type TreeOptions } from './archive.ts';
import { PROJECT } from './project.ts';
import type { Target } from './targets.ts';

/** Debian's names for processors. */
export const DEBIAN_CPU: Record<Target['cpu'], string> = { x64: 'amd64', arm64: 'arm64' };

/** Replacements in the examples' unit, which is for a manual installation. */
const UNIT_CHANGES: [from: string | RegExp, to: string][] = [
  [/^#[^[]*(?=\[Unit\])/, '# Settings: /etc/picpool/env. Changes of this unit: systemctl edit picpool\n'],
  ['/usr/local/bin/picpool', '/usr/bin/picpool'],
  ['EnvironmentFile=-/etc/picpool.env', 'EnvironmentFile=-/etc/picpool/env'],
  ['DynamicUser=yes\n', 'User=picpool\nGroup=picpool\n'],
  ['\nAfter=', `\nDocumentation=man:picpool(1) ${PROJECT.homepage}\nAfter=`],
];

/** Returns the package's unit, made from `examples/picpool.service`. Throws if that has changed too much. */
export function packagedUnit(example: string): string {
  let unit = example;
  for (const [from, to] of UNIT_CHANGES) {
    const changed = unit.replace(from, to);
    if (changed === unit) throw new Error(`examples/picpool.service has no ${from} any more.`);
    unit = changed;
  }
  return unit;
}

export interface DebOptions extends TreeOptions {
  cpu: Target['cpu'];
  /** The `.deb` to write. */
  path: string;
}

/**
 * Builds the Debian package: program, user, unit, settings. It needs glibc 2.28 or later, as in Debian since version
 * 10.
 */
export async function packDeb(options: DebOptions): Promise<void> {
  const { root, folder, cpu, path } = options;
  const source = join(root, 'scripts/build/deb');
  await fillTree({ ...options, folder: join(folder, 'usr') });
  const share = join(folder, 'usr/share');
  await mkdir(join(share, 'zsh/vendor-completions'), { recursive: true });
  await rename(join(share, 'zsh/site-functions/_picpool'), join(share, 'zsh/vendor-completions/_picpool'));
  await rm(join(share, 'zsh/site-functions'), { recursive: true });
  await rename(join(share, 'doc/picpool/LICENSE'), join(share, 'doc/picpool/copyright'));
  const unit = packagedUnit(await readFile(join(root, 'examples/picpool.service'), 'utf8'));
  await put(join(folder, 'usr/lib/systemd/system/picpool.service'), unit);
  for (const name of ['picpool-backup.service', 'picpool-backup.timer']) {
    await put(join(folder, 'usr/lib/systemd/system', name), await readFile(join(source, name), 'utf8'));
  }
  await put(join(folder, 'etc/picpool/env'), await readFile(join(source, 'env'), 'utf8'), 0o640);
  await put(join(folder, 'DEBIAN/conffiles'), '/etc/picpool/env\n');
  for (const script of ['postinst', 'prerm', 'postrm']) {
    await copyFile(join(source, script), join(folder, 'DEBIAN', script));
  }
  const { size } = await stat(join(folder, 'usr/bin/picpool'));
  const control = {
    Package: 'picpool',
    Version: VERSION,
    Architecture: DEBIAN_CPU[cpu],
    Maintainer: PROJECT.maintainer,
    Homepage: PROJECT.homepage,
    Section: 'net',
    Priority: 'optional',
    'Installed-Size': String(Math.ceil(size / 1024)),
    Depends: 'adduser, init-system-helpers (>= 1.54), libc6 (>= 2.28), libgcc-s1, libstdc++6',
    Description:
      'proxy pool and image host in one small server\n Gathers free public proxies, proves which of them work, and hands them out; hosts\n pictures with ready-made links. Runs on SQLite and a folder, or on Redis and S3.',
  };
  const lines = Object.entries(control).map(([name, value]) => `${name}: ${value}\n`);
  await put(join(folder, 'DEBIAN/control'), lines.join(''));
  await run('dpkg-deb', ['--root-owner-group', '-Zgzip', `-z${LEVEL}`, '--build', folder, path]);
}
