import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { copyTree } from '../../scripts/mutate/copy-tree.ts';
import { run } from '../support/run.ts';
import { withFolder } from '../support/temporary.ts';

const root = resolve(import.meta.dir, '..', '..');

/** Compresses the first megabyte and leaves the rest as it is: gzip would take most of the time, and all bytes count all the same. */
const GZIP = '#!/bin/sh\nhead -c 1000000 | /usr/bin/gzip "$@"\nexec cat\n';

/** Builds a release for one machine in a new folder, with the programs of `tools`, and returns the sums of its files. */
async function releaseIn(folder: string, tools: string): Promise<Record<string, string>> {
  await mkdir(resolve(folder, '..'), { recursive: true });
  await rename(await copyTree(root), folder);
  await rm(join(folder, 'node_modules'));
  const PATH = `${tools}:${process.env.PATH}`;
  const options = { cwd: folder, env: { ...process.env, PATH, RELEASE_LEVEL: '1' } };
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
    await writeFile(join(scratch, 'gzip'), GZIP, { mode: 0o755 });
    const [first, second] = await Promise.all([
      releaseIn(join(scratch, 'here'), scratch),
      // Archives name times in seconds, and the builds must not be at the same one.
      Bun.sleep(2_500).then(() => releaseIn(join(scratch, 'elsewhere', 'and deeper'), scratch)),
    ]);
    expect(Object.keys(first).length).toBeGreaterThan(6);
    expect(second).toEqual(first);
  });
}, 300_000);
