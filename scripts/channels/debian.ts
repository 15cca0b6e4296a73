import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './channel.ts';

/** A small Debian with systemd, made once and kept below `.tools`; it is only ever used under an overlay. */
export async function debianRoot(): Promise<string> {
  const folder = join(process.cwd(), '.tools/roots/debian-amd64');
  if (existsSync(folder)) return folder;
  const made = `${folder}.new`;
  await rm(made, { recursive: true, force: true });
  await mkdir(made, { recursive: true });
  const packages = '--include=libstdc++6,systemd,systemd-sysv,adduser,init-system-helpers';
  await run(['debootstrap', '--variant=minbase', packages, 'bookworm', made, await debianMirror()]);
  await rename(made, folder);
  return folder;
}

/** Where this machine gets Debian's packages from. */
export async function debianMirror(): Promise<string> {
  const all = await run(['apt-get', 'indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']);
  const [mirror = ''] = all.split('\n').filter((line) => !line.includes('security'));
  return mirror.replace(/\/$/, '');
}
