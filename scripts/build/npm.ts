import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION } from '../../src/version.ts';
import { pack, put } from './archive.ts';
import { PROJECT } from './project.ts';
import type { Target } from './targets.ts';

const COMMON = { version: VERSION, license: 'MIT', ...PROJECT.manifest };

/** Returns the package with the binary for a machine. npm installs the one with matching `os`, `cpu` and `libc`. */
export const platformPackage = (platform: string): string => `@picpool/${platform}`;

export interface PlatformPackageOptions {
  target: Target;
  binary: string;
  licences: string;
  /** An empty folder to fill. */
  folder: string;
  /** The `.tgz` to write. */
  path: string;
}

/** Packs the npm package of one machine: only the binary, without install scripts. */
export async function packPlatform(options: PlatformPackageOptions): Promise<void> {
  const { target, binary, licences, folder, path } = options;
  const manifest = {
    name: platformPackage(target.platform),
    ...COMMON,
    description: `The binary of picpool for ${target.platform}.`,
    os: [target.os],
    cpu: [target.cpu],
    ...(target.libc && { libc: [target.libc] }),
    preferUnplugged: true,
  };
  await put(join(folder, 'package/package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await put(
    join(folder, 'package/README.md'),
    `The binary of picpool for ${target.platform}. Install \`picpool\`.\n`,
  );
  await put(join(folder, 'package/licences.txt'), licences);
  await mkdir(join(folder, 'package/bin'), { recursive: true });
  await copyFile(binary, join(folder, 'package/bin/picpool'));
  await chmod(join(folder, 'package/bin/picpool'), 0o755);
  await pack(join(folder, 'package'), path);
}

/** Packs the npm package `picpool`, a launcher that runs the binary from the package for this machine. */
export async function packLauncher(options: {
  root: string;
  platforms: readonly string[];
  folder: string;
  path: string;
}): Promise<void> {
  const { root, platforms, folder, path } = options;
  const manifest = {
    name: 'picpool',
    ...COMMON,
    description: 'A proxy pool and an image host in one small server.',
    keywords: ['proxy', 'proxy-pool', 'image-host', 'self-hosted'],
    type: 'module',
    bin: { picpool: 'bin/picpool.js' },
    engines: { node: '>=18' },
    optionalDependencies: Object.fromEntries(platforms.map((name) => [platformPackage(name), VERSION])),
  };
  await put(join(folder, 'package/package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await put(
    join(folder, 'package/README.md'),
    '# picpool\n\nA proxy pool and an image host in one small server.\n\n    npx picpool           # or: bunx picpool\n    npx picpool --help\n\nThe server listens at http://localhost:3000 and keeps its data in `./data`.\n',
  );
  await copyFile(join(root, 'LICENSE'), join(folder, 'package/LICENSE'));
  await put(
    join(folder, 'package/bin/picpool.js'),
    await Bun.file(join(root, 'scripts/build/npm-launcher.js')).text(),
    0o755,
  );
  await pack(join(folder, 'package'), path);
}
