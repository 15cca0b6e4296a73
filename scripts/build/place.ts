/**
 * Runs inside the compiled program: writes sharp and libvips to the disk, because the system can only load them from
 * real files. Loads nothing that this user did not write or that differs from the build.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { zstdDecompressSync } from 'node:zlib';
import { freeOn } from '../../src/lib/storage-full.ts';

/** A file of the build that must exist on the disk. */
export interface BundledFile {
  /** Its path below the folder, such as `sharp-linux-x64/lib/sharp.node`. */
  path: string;
  /** Its place in the bundle, compressed with zstd. */
  source: string;
  /** SHA-256 of its decompressed content, in hexadecimal. */
  sha256: string;
}

const CHUNK_BYTES = 1 << 20;

/** Only the owner may read, write or enter. */
const OWNER_ONLY = 0o700;

/**
 * Returns folders for the files, best first: below the data folder, the user's cache folder, the temporary folder. Those that have this
 * version come before all others, because writing it takes 0.2 s of the processor.
 */
export function cacheRoots(
  env: Readonly<Record<string, string | undefined>>,
  userId: number,
  version: string,
): string[] {
  const data = resolve(env.DATA_DIR || 'data');
  const cache = env.XDG_CACHE_HOME || (env.HOME && join(env.HOME, '.cache'));
  const roots = [
    ...(isFolder(data) ? [join(data, 'native')] : []),
    ...(cache ? [resolve(cache, 'picpool', 'native')] : []),
    join(tmpdir(), `picpool-${userId}`),
  ];
  const lacks = (root: string) => Number(!isFolder(join(root, version)));
  return roots.sort((one, other) => lacks(one) - lacks(other));
}

/** Returns the name of the folder for these files. */
export function versionOf(files: readonly BundledFile[]): string {
  const sums = files.map(({ sha256 }) => sha256).join();
  return createHash('sha256').update(sums).digest('hex').slice(0, 16);
}

/**
 * Writes missing files below `root`, in a folder named by their hashes, and returns that folder. Safe if several
 * processes do it at once.
 * @throws {Error} if the folder is not writable or not this user's own, or its disk has no room for the files.
 */
export function placeFiles(files: readonly BundledFile[], root: string, userId: number): string {
  mkdirSync(root, { recursive: true, mode: OWNER_ONLY });
  checkFolder(root, userId);
  const version = versionOf(files);
  const folder = join(root, version);
  const missing = files.filter((file) => !stands(file, folder, userId));
  if (missing.length === 0) return folder;
  const contents = missing.map(({ path, source }) => ({
    path,
    content: zstdDecompressSync(readFileSync(source)),
  }));
  const bytes = contents.reduce((sum, { content }) => sum + content.length, 0);
  // Each process would otherwise fill the disk until it fails, and meanwhile nobody else could write.
  if (freeOn(statfsSync(root)) < bytes) throw new Error(`its disk has no room for ${bytes} bytes`);
  for (const { path, content } of contents) write(join(folder, path), content, folder);
  const faulty = missing.find((file) => !stands(file, folder, userId));
  if (faulty) throw new Error(`${join(folder, faulty.path)} is not what was written`);
  removeOthers(root, version);
  return folder;
}

/**
 * Loads the addon, `files[0]`, from the first place that allows it, or else from a folder that is removed at once.
 * @throws {Error} with every place and why it failed.
 */
export function loadAddon(files: readonly BundledFile[]): unknown {
  const userId = process.geteuid?.() ?? -1;
  const faults: string[] = [];
  const attempt = (root: string): unknown => {
    try {
      const folder = placeFiles(files, root, userId);
      const loaded: { exports: unknown } = { exports: {} };
      process.dlopen(loaded, join(folder, files[0]?.path ?? ''));
      return loaded.exports;
    } catch (error) {
      faults.push(`  ${root}: ${error instanceof Error ? error.message : error}`);
      return undefined;
    }
  };
  for (const root of cacheRoots(process.env, userId, versionOf(files))) {
    const addon = attempt(root);
    if (addon) return addon;
  }
  const passing = ownTemporaryFolder();
  if (passing) {
    const addon = attempt(passing);
    rmSync(passing, { recursive: true, force: true });
    if (addon) return addon;
  }
  throw new Error(
    `The image library could not be loaded. Set XDG_CACHE_HOME to a folder of this user's own from which programs may be run.\n${faults.join('\n')}`,
  );
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

function ownTemporaryFolder(): string | undefined {
  try {
    return mkdtempSync(join(tmpdir(), 'picpool-'));
  } catch {
    return undefined;
  }
}

function checkFolder(path: string, userId: number): void {
  const found = lstatSync(path);
  if (!found.isDirectory()) throw new Error(`${path} is not a folder`);
  if (found.uid !== userId) throw new Error(`${path} belongs to another user`);
  if ((found.mode & 0o077) !== 0) throw new Error(`${path} is open to other users; its mode must be 700`);
}

/** Reports whether the file exists, belongs to this user, is a plain file, and has the bytes of the build. */
function stands({ path, sha256 }: BundledFile, folder: string, userId: number): boolean {
  let descriptor: number | undefined;
  try {
    for (let parent = dirname(join(folder, path)); parent.length >= folder.length; parent = dirname(parent)) {
      checkFolder(parent, userId);
    }
    descriptor = openSync(join(folder, path), constants.O_RDONLY | constants.O_NOFOLLOW);
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.uid !== userId || found.nlink !== 1) return false;
    return hashOf(descriptor) === sha256;
  } catch {
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function hashOf(descriptor: number): string {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (;;) {
    const bytes = readSync(descriptor, chunk, 0, CHUNK_BYTES, null);
    if (bytes === 0) return hash.digest('hex');
    hash.update(chunk.subarray(0, bytes));
  }
}

/** Writes a temporary file and renames it, so that nobody ever sees half a file. */
function write(target: string, content: Uint8Array, folder: string): void {
  mkdirSync(dirname(target), { recursive: true, mode: OWNER_ONLY });
  for (let parent = dirname(target); parent.length >= folder.length; parent = dirname(parent)) {
    chmodSync(parent, OWNER_ONLY);
  }
  const temporary = `${target}.${randomUUID()}`;
  const descriptor = openSync(temporary, 'wx', 0o500);
  try {
    for (let at = 0; at < content.length; ) at += writeSync(descriptor, content, at);
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Removes the files of earlier versions. One that still runs writes its own again when needed. */
function removeOthers(root: string, version: string): void {
  for (const name of readdirSync(root)) {
    if (name !== version) rmSync(join(root, name), { recursive: true, force: true });
  }
}
