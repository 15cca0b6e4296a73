import { expect, test } from 'bun:test';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { removeOldWorkspaces } from '../../src/codec/workers/workspace.ts';
import { withFolder } from '../support/temporary.ts';

test('a start removes the folders of dead workers, and nothing that somebody else keeps in a folder of that name', async () => {
  await withFolder(async (root) => {
    const running = `${process.ppid}-0123abcd-1`;
    // Linux allows no process that ID.
    for (const name of ['9999999-0123abcd-1', running, 'thesis', '2026']) await mkdir(join(root, name));
    await writeFile(join(root, 'notes.txt'), 'x');
    await removeOldWorkspaces(root);
    expect((await readdir(root)).sort()).toEqual([running, '2026', 'notes.txt', 'thesis'].sort());
  });
});
