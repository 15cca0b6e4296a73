import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { copyTree } from '../../scripts/mutate/copy-tree.ts';
import { run } from '../support/run.ts';
import { withFolder } from '../support/temporary.ts';

const root = resolve(import.meta.dir, '..', '..');

/** Builds a release for one machine in a new folder, and returns the sums of its files. */
async function releaseIn(folder: string): Promise<Record<string, string>> {
  await mkdir(resolve(folder, '..'), { recursive: true });
  await rename(await copyTree(root), folder);
  await rm(join(folder, 'node_modules'));
  const options = { cwd: folder, env: { ...process.env, RELEASE_LEVEL: '1' } };
  await run([process.execPath, 'install', '--frozen-lockfile'], options);
  await run([process.execPath, 'scripts/build/release.ts', '--target', 'linux-x64'], options);
  const files = join(folder, 'dist/release');
  const sums: Record<string, string> = {};
  for (const name of (await readdir(files)).sort())
    sums[name] = createHash('sha256')
      .update(await readFile(join(files, name)))
      .digest('hex');
  return sums;
}

test('two builds of one tree, in different folders, are the same bytes', async () => {
  await withFolder(async (scratch) => {
    const [first, second] = await Promise.all([
      releaseIn(join(scratch, 'here')),
      releaseIn(join(scratch, 'elsewhere', 'and deeper')),
    ]);
    expect(Object.keys(first).length).toBeGreaterThan(6);
    expect(second).toEqual(first);
  });
}, 300_000);
