import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../test/support/run.ts';

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

/** Fetches a package of any suite and processor with this machine's apt, into a folder of its own; answers the file. */
export async function debianPackage(
  name: string,
  suite: string,
  cpu: string,
  folder: string,
): Promise<string> {
  const [lists, archives, sources] = [
    join(folder, 'lists'),
    join(folder, 'archives'),
    join(folder, 'sources'),
  ];
  for (const place of [lists, archives]) await mkdir(join(place, 'partial'), { recursive: true });
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  await writeFile(sources, `deb [signed-by=${keys}] ${await debianMirror()} ${suite} main\n`);
  const settings = {
    'APT::Architecture': cpu,
    'APT::Architectures': cpu,
    'APT::Sandbox::User': 'root',
    'Dir::Etc::sourcelist': sources,
    'Dir::Etc::sourceparts': '-',
    'Dir::State::lists': lists,
    'Dir::State::status': '/dev/null',
  };
  const apt = [
    'apt-get',
    '-qq',
    ...Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]),
  ];
  await run([...apt, 'update']);
  await run([...apt, 'download', name], { cwd: archives });
  const [file = ''] = (await readdir(archives)).filter((one) => one.endsWith('.deb'));
  return join(archives, file);
}
