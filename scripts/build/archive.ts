import { chmod, copyFile, cp, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { VERSION } from '../../src/version.ts';
import { describeCommands } from './command-table.ts';
import { COMPLETIONS } from './completions.ts';
import { manualPage } from './manual.ts';

/** Where each shell looks for completions, below `/usr/local/share` or another prefix. */
const COMPLETION_PLACES: Record<string, string> = {
  'picpool.bash': 'share/bash-completion/completions/picpool',
  _picpool: 'share/zsh/site-functions/_picpool',
  'picpool.fish': 'share/fish/vendor_completions.d/picpool.fish',
};

/** How hard gzip tries, from 1 to 9. It is the slowest part of a build. */
export const LEVEL = process.env.RELEASE_LEVEL ?? '6';

export interface TreeOptions {
  /** The project's folder. */
  root: string;
  /** The folder to fill. */
  folder: string;
  /** The binary, and the licence texts of what is in it. */
  binary: string;
  licences: string;
}

/** Fills a folder with what an installed picpool has below a prefix such as `/usr/local`: `bin` and `share`. */
export async function fillTree({ root, folder, binary, licences }: TreeOptions): Promise<void> {
  const commands = await describeCommands();
  await put(join(folder, 'share/man/man1/picpool.1'), manualPage(commands));
  for (const [name, write] of Object.entries(COMPLETIONS)) {
    await put(join(folder, COMPLETION_PLACES[name] ?? name), write(commands));
  }
  await put(join(folder, 'share/doc/picpool/licences.txt'), licences);
  for (const name of ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md']) {
    await copyFile(join(root, name), join(folder, 'share/doc/picpool', name));
  }
  // What the documents link to and name.
  const compose = ['compose.simple.yaml', 'compose.yaml', 'compose.postgres.yaml'];
  for (const name of ['docs', 'examples', 'scripts/verify-release', ...compose]) {
    const filter = (path: string) => !path.endsWith('/screenshots');
    await cp(join(root, name), join(folder, 'share/doc/picpool', name), { recursive: true, filter });
  }
  await mkdir(join(folder, 'bin'), { recursive: true });
  await copyFile(binary, join(folder, 'bin/picpool'));
  await chmod(join(folder, 'bin/picpool'), 0o755);
}

/** Writes a text file that everyone may read, creating its folders. */
export async function put(path: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, mode);
}

/**
 * Packs a folder, under its own name, as `.tar.gz`. The same files always give the same bytes: owners, times and
 * order do not depend on the machine.
 */
export async function pack(folder: string, path: string): Promise<void> {
  await run('tar', [
    ...['--create', '--file', path, '--use-compress-program', `gzip -${LEVEL} --no-name`],
    ...['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u+rw,go+r,go-w'],
    ...['--directory', dirname(folder), folder.slice(dirname(folder).length + 1)],
  ]);
}

/** Runs a program of the system to its end. Rejects if it fails. */
export async function run(program: string, args: readonly string[]): Promise<void> {
  // No file says when it was packed.
  const env = { ...process.env, SOURCE_DATE_EPOCH: '0' };
  const child = Bun.spawn([program, ...args], { stdio: ['ignore', 'inherit', 'inherit'], env });
  if ((await child.exited) !== 0) throw new Error(`${program} ended with ${child.exitCode}.`);
}

/** Returns the name of a release file for a machine: `picpool-0.1.0-linux-x64`. */
export function releaseName(platform: string): string {
  return `picpool-${VERSION}-${platform}`;
}
