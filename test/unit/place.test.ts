import { afterEach, beforeEach, expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { type BundledFile, cacheRoots, placeFiles, versionOf } from '../../scripts/build/place.ts';

const userId = process.geteuid?.() ?? -1;
const content = Buffer.from('the bytes of the build');
/** Mounts of a namespace of its own need no right of the machine. */
const [IN_NAMESPACE, MOUNTING] = ['unshare', ['--map-root-user', '--mount']];
const canMount = spawnSync(IN_NAMESPACE, [...MOUNTING, 'true']).status === 0;
const PLACE = require.resolve('../../scripts/build/place.ts');
let scratch: string;
let root: string;
let files: BundledFile[];

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'picpool-place-'));
  root = join(scratch, 'cache');
  const source = join(scratch, 'bundled');
  await writeFile(source, zstdCompressSync(content));
  files = [
    { path: 'addon/lib/addon.node', source, sha256: createHash('sha256').update(content).digest('hex') },
  ];
});

afterEach(() => rm(scratch, { recursive: true }));

test('files are unpacked once, into a folder for the owner alone', async () => {
  const folder = placeFiles(files, root, userId);
  const target = join(folder, 'addon/lib/addon.node');
  expect(await readFile(target)).toEqual(content);
  for (const path of [root, folder, join(folder, 'addon/lib')]) {
    expect((await stat(path)).mode & 0o777).toBe(0o700);
  }
  const { ino } = await stat(target);
  expect(placeFiles(files, root, userId)).toBe(folder);
  expect((await stat(target)).ino).toBe(ino);
});

test('an altered file is replaced before it can be loaded', async () => {
  const target = join(placeFiles(files, root, userId), 'addon/lib/addon.node');
  await rm(target);
  await writeFile(target, 'something planted');
  placeFiles(files, root, userId);
  expect(await readFile(target)).toEqual(content);
});

test('a link in place of a file is replaced, and its target stays', async () => {
  const target = join(placeFiles(files, root, userId), 'addon/lib/addon.node');
  const elsewhere = join(scratch, 'elsewhere');
  await writeFile(elsewhere, content);
  await rm(target);
  await symlink(elsewhere, target);
  placeFiles(files, root, userId);
  await rm(elsewhere);
  expect(await readFile(target)).toEqual(content);
});

test('a folder that is open to others, owned by another user or a link is refused', async () => {
  await mkdir(root);
  await chmod(root, 0o755);
  expect(() => placeFiles(files, root, userId)).toThrow('is open to other users');
  await chmod(root, 0o700);
  expect(() => placeFiles(files, root, userId + 1)).toThrow('belongs to another user');
  await symlink(root, join(scratch, 'link'));
  expect(() => placeFiles(files, join(scratch, 'link'), userId)).toThrow('is not a folder');
});

test('files of another version are removed', async () => {
  await mkdir(join(root, 'an-older-one', 'addon'), { recursive: true, mode: 0o700 });
  const folder = placeFiles(files, root, userId);
  expect(await readdir(root)).toEqual([folder.slice(root.length + 1)]);
});

test('a source whose hash differs from the build is not used', async () => {
  await writeFile(files[0]?.source ?? '', zstdCompressSync(Buffer.from('damaged')));
  expect(() => placeFiles(files, root, userId)).toThrow('is not what was written');
});

test.skipIf(!canMount)('a disk that does not tell its size gets the files', () => {
  const mount = ['sh', '-c', `mkdir ${root} && mount -t ramfs -o mode=700 ramfs ${root} && exec "$@"`, 'sh'];
  const place = `import { placeFiles } from '${PLACE}'; placeFiles(${JSON.stringify(files)}, '${root}', 0)`;
  const { stderr, status } = spawnSync(IN_NAMESPACE, [...MOUNTING, ...mount, process.execPath, '-e', place]);
  expect([status, stderr.toString()]).toEqual([0, '']);
});

test('the data folder comes first, then the cache folder, then the temporary one', () => {
  expect(cacheRoots({ DATA_DIR: scratch, XDG_CACHE_HOME: '/x', HOME: '/home/me' }, 7, 'v')).toEqual([
    join(scratch, 'native'),
    '/x/picpool/native',
    join(tmpdir(), 'picpool-7'),
  ]);
  expect(cacheRoots({ DATA_DIR: join(scratch, 'missing'), HOME: '/home/me' }, 7, 'v')[0]).toBe(
    '/home/me/.cache/picpool/native',
  );
});

test('files that are in a folder already are not written into one that would be better', () => {
  const env = { DATA_DIR: scratch, XDG_CACHE_HOME: join(scratch, 'cache') };
  const native = join(scratch, 'cache/picpool/native');
  placeFiles(files, native, userId);
  expect(cacheRoots(env, userId, versionOf(files))[0]).toBe(native);
  expect(cacheRoots(env, userId, 'newer')[0]).toBe(join(scratch, 'native'));
});
