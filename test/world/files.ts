/**
 * The disk of the simulated world, in memory: a real one answers in an order of its own, which no seed repeats. What is outside
 * the folder of the world is read as ever. Import this before the server.
 */
import { createRequire } from 'node:module';
import { stir } from './time.ts';

/** The folder of all files of the world. */
export const WORLD = '/world/';

const load = createRequire(import.meta.url);
const real = { ...load('node:fs/promises') } as typeof import('node:fs/promises');
const files = new Map<string, { bytes: Uint8Array; at: number }>();

/** Forgets all files. */
export const resetFiles = () => files.clear();
export const readBytes = (path: string) => files.get(path)?.bytes ?? new Uint8Array();
export const writeBytes = (path: string, bytes: Uint8Array, at = Date.now()) =>
  void files.set(path, { bytes, at });
/** What is in a folder and in the folders inside, by path. */
export const filesIn = (folder: string) => [...files].filter(([path]) => path.startsWith(folder));
export const removeFile = (path: string) => files.delete(path);

function fault(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

function need(path: string): { bytes: Uint8Array; at: number } {
  const file = files.get(path);
  if (!file) throw fault('ENOENT', path);
  return file;
}

const asBytes = (content: string | Uint8Array) =>
  typeof content === 'string' ? new TextEncoder().encode(content) : content;

const simulated = {
  async open(path: string, flags: string) {
    if (flags === 'wx' && files.has(path)) throw fault('EEXIST', path);
    if (flags.startsWith('w')) writeBytes(path, new Uint8Array());
    // A folder, whose names are to be on the disk.
    const isFolder = !files.has(path) && filesIn(`${path}/`).length > 0;
    const file = isFolder ? { bytes: new Uint8Array(), at: 0 } : need(path);
    return {
      async sync() {},
      async write(piece: Uint8Array, from = 0) {
        stir();
        file.bytes = Buffer.concat([file.bytes, piece.subarray(from)]);
        return { bytesWritten: piece.byteLength - from };
      },
      async close() {},
    };
  },
  async mkdir() {},
  async rename(path: string, to: string) {
    files.set(to, need(path));
    files.delete(path);
  },
  async unlink(path: string) {
    need(path);
    files.delete(path);
  },
  async utimes(path: string, _: number, modified: number) {
    need(path).at = modified * 1000;
  },
  async rm(path: string) {
    files.delete(path);
  },
  async writeFile(path: string, content: string | Uint8Array) {
    writeBytes(path, asBytes(content));
  },
  async readFile(path: string, encoding?: unknown) {
    const { bytes } = need(path);
    return encoding ? new TextDecoder().decode(bytes) : Buffer.from(bytes);
  },
  async truncate(path: string) {
    need(path).bytes = new Uint8Array();
  },
  stat: async (path: string) => statOf(need(path)),
  async readdir(path: string) {
    const prefix = path.endsWith('/') ? path : `${path}/`;
    const names = filesIn(prefix).map(([name]) => name.slice(prefix.length).split('/')[0] ?? '');
    return [...new Set(names)];
  },
};

const statOf = ({ bytes, at }: { bytes: Uint8Array; at: number }) => ({
  size: bytes.byteLength,
  mtimeMs: at,
  isFile: () => true,
});
const { statSync } = load('node:fs');
load('node:fs').statSync = (path: unknown, options: unknown) => {
  if (typeof path !== 'string' || !path.startsWith(WORLD)) return statSync(path, options);
  const file = files.get(path);
  return file && statOf(file);
};

for (const [name, replaced] of Object.entries(simulated)) {
  load('node:fs/promises')[name] = (path: unknown, ...rest: never[]) => {
    if (typeof path !== 'string' || !path.startsWith(WORLD)) {
      return (real[name as keyof typeof real] as (...args: unknown[]) => unknown)(path, ...rest);
    }
    stir();
    return (replaced as (...args: unknown[]) => unknown)(path, ...rest);
  };
}
