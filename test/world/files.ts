/**
 * Temporary files of the simulated world, in memory: a disk answers in an order of its own, which no seed repeats. What is outside
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
export const writeBytes = (path: string, bytes: Uint8Array) =>
  void files.set(path, { bytes, at: Date.now() });

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
    if (flags !== 'r') writeBytes(path, new Uint8Array());
    const file = need(path);
    return {
      async write(piece: Uint8Array, from = 0) {
        stir();
        file.bytes = Buffer.concat([file.bytes, piece.subarray(from)]);
        return { bytesWritten: piece.byteLength - from };
      },
      async close() {},
    };
  },
  async mkdir() {},
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
  async stat(path: string) {
    const { bytes, at } = need(path);
    return { size: bytes.byteLength, mtimeMs: at };
  },
  async readdir(path: string) {
    const prefix = path.endsWith('/') ? path : `${path}/`;
    return [...files.keys()]
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length));
  },
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
