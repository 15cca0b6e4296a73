import { existsSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** A machine that a binary can be built for. */
export interface Target {
  /** The name for Bun's `--target`. */
  name: Bun.Build.CompileTarget;
  /** The name in release files and sharp's packages. */
  platform: string;
  os: 'linux' | 'darwin';
  cpu: 'x64' | 'arm64';
  libc?: 'glibc' | 'musl';
}

export const TARGETS: readonly Target[] = [
  { name: 'bun-linux-x64', platform: 'linux-x64', os: 'linux', cpu: 'x64', libc: 'glibc' },
  { name: 'bun-linux-arm64', platform: 'linux-arm64', os: 'linux', cpu: 'arm64', libc: 'glibc' },
  { name: 'bun-linux-x64-musl', platform: 'linuxmusl-x64', os: 'linux', cpu: 'x64', libc: 'musl' },
  { name: 'bun-linux-arm64-musl', platform: 'linuxmusl-arm64', os: 'linux', cpu: 'arm64', libc: 'musl' },
  { name: 'bun-darwin-x64', platform: 'darwin-x64', os: 'darwin', cpu: 'x64' },
  { name: 'bun-darwin-arm64', platform: 'darwin-arm64', os: 'darwin', cpu: 'arm64' },
];

/**
 * Returns the targets of a comma-separated list; `all` means every one, an empty list this machine.
 * @throws {Error} with the valid names, for an unknown one.
 */
export function chooseTargets(names: string | undefined): readonly Target[] {
  if (names === 'all') return TARGETS;
  if (names === undefined) return [thisMachine()];
  return names.split(',').map((name) => {
    const target = TARGETS.find((one) => one.name === name || one.platform === name);
    if (target) return target;
    throw new Error(
      `"${name}" is not a target. There are: ${TARGETS.map((one) => one.name).join(', ')}, all.`,
    );
  });
}

function thisMachine(): Target {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  const isMusl = process.platform === 'linux' && report?.header?.glibcVersionRuntime === undefined;
  const platform = `${process.platform}${isMusl ? 'musl' : ''}-${process.arch}`;
  const target = TARGETS.find((one) => one.platform === platform);
  if (target) return target;
  throw new Error(`No binary can be made for ${platform}.`);
}

/**
 * The `node_modules` folder that has sharp's packages for the target: the project's own, or one made for it below
 * `.tools`, from the same lock file, whose hashes Bun checks.
 */
export async function packagesFor(target: Target, root: string): Promise<string> {
  const own = resolve(root, 'node_modules');
  if (existsSync(join(own, '@img', `sharp-${target.platform}`))) return own;
  const folder = resolve(root, '.tools', 'targets', target.platform);
  await mkdir(folder, { recursive: true });
  for (const name of ['package.json', 'bun.lock']) await copyFile(join(root, name), join(folder, name));
  const install = Bun.spawn(
    [
      process.execPath,
      ...['install', '--frozen-lockfile', '--production', '--ignore-scripts', '--silent'],
      ...[`--os=${target.os}`, `--cpu=${target.cpu}`, ...(target.libc ? [`--libc=${target.libc}`] : [])],
    ],
    { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  if ((await install.exited) !== 0) throw new Error(`The packages for ${target.name} could not be fetched.`);
  return join(folder, 'node_modules');
}
