import { expect, test } from 'bun:test';
import { chmod, lstat, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { photo } from '../support/images/images.ts';
import { LIGHT, type RuntimeName, startServer } from '../support/servers/server-process.ts';
import { withFolder } from '../support/temporary.ts';

/** Modes of what others may read, write or enter, by path: of the folder, what is in it, and what is below if they may enter that. */
async function openToOthers(folder: string, path = '.'): Promise<string[]> {
  const { mode } = await lstat(join(folder, path));
  const isOpen = (mode & 0o077) !== 0;
  const names = path === '.' || isOpen ? await readdir(join(folder, path)).catch(() => []) : [];
  const below = await Promise.all(names.map((name) => openToOthers(folder, join(path, name))));
  return [...(isOpen ? [`${path} ${(mode & 0o777).toString(8)}`] : []), ...below.flat()];
}

/** Runs a server under umask 022, as most are started. */
async function useServer(runtime: RuntimeName, folder: string): Promise<void> {
  const server = await startServer(runtime, { ...LIGHT, PROXY_JUDGES: 'http://127.0.0.1:9/' }, folder, [
    'sh',
    '-c',
    'umask 022; exec "$@"',
    'sh',
  ]);
  try {
    const body = new Uint8Array(await photo(300, 200));
    const answer = await fetch(`${server.url}/api/upload`, { method: 'POST', body });
    expect(answer.status).toBe(201);
  } finally {
    expect(await server.stop()).toBe(0);
  }
}

for (const runtime of ['bun', 'deno'] as const) {
  test(`on ${runtime} nothing of the data can be read by others, and what an older version left is closed at start`, async () => {
    await withFolder(async (parent) => {
      const folder = join(parent, 'data');
      await useServer(runtime, folder);
      expect(await openToOthers(folder)).toEqual([]);

      for (const path of ['.', ...(await readdir(folder, { recursive: true }))]) {
        const isFolder = (await lstat(join(folder, path))).isDirectory();
        await chmod(join(folder, path), isFolder ? 0o755 : 0o644);
      }
      expect((await openToOthers(folder)).length).toBeGreaterThan(4);
      await useServer(runtime, folder);
      expect(await openToOthers(folder)).toEqual([]);
    });
  }, 180_000);
}

test('in a folder that is used for other things, too, only what is of the server is closed', async () => {
  await withFolder(async (parent) => {
    const [folder, others] = [join(parent, 'share'), join(parent, 'others')];
    for (const path of [folder, others]) await mkdir(path, { mode: 0o755 });
    for (const path of [join(folder, 'letter.txt'), join(others, 'one.txt')])
      await writeFile(path, '', { mode: 0o644 });
    await mkdir(join(folder, 'images'), { mode: 0o755 });
    await writeFile(join(folder, 'images', 'old.txt'), '', { mode: 0o644 });
    await symlink(others, join(folder, 'native'));
    await useServer('bun', folder);
    // A link has no mode of its own.
    const open = (await openToOthers(folder)).filter((line) => !line.startsWith('native'));
    expect(open.sort()).toEqual(['. 755', 'letter.txt 644']);
    // Nobody else gets there, and it may not be of the server.
    expect((await lstat(join(folder, 'images', 'old.txt'))).mode & 0o777).toBe(0o644);
    expect(await openToOthers(others)).toEqual(['. 755', 'one.txt 644']);
  });
}, 180_000);
