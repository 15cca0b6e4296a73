import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { copyTree } from '../../scripts/mutate/copy-tree.ts';

const root = resolve(import.meta.dir, '..', '..');

async function run(cwd: string, ...command: string[]): Promise<void> {
  const env = { ...process.env, RELEASE_LEVEL: '1' };
  const child = Bun.spawn(command, { cwd, env, stdout: 'ignore', stderr: 'pipe' });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${said}`);
}

/** Builds a release for one machine in a new folder, and returns the sums of its files. */
async function releaseIn(folder: string): Promise<Record<string, string>> {
  await mkdir(resolve(folder, '..'), { recursive: true });
  await rename(await copyTree(root), folder);
  await rm(join(folder, 'node_modules'));
  await run(folder, process.execPath, 'install', '--frozen-lockfile');
  await run(folder, process.execPath, 'scripts/build/release.ts', '--target', 'linux-x64');
  const files = join(folder, 'dist/release');
  const sums: Record<string, string> = {};
  for (const name of (await readdir(files)).sort())
    sums[name] = createHash('sha256')
      .update(await readFile(join(files, name)))
      .digest('hex');
  return sums;
}

test('two builds of one tree, in different folders, are the same bytes', async () => {
  const scratch = await mkdtemp(join(tmpdir(), 'picpool-twice-'));
  try {
    const [first, second] = await Promise.all([
      releaseIn(join(scratch, 'here')),
      releaseIn(join(scratch, 'elsewhere', 'and deeper')),
    ]);
    expect(Object.keys(first).length).toBeGreaterThan(6);
    expect(second).toEqual(first);
  } finally {
    await rm(scratch, { recursive: true });
  }
}, 300_000);
