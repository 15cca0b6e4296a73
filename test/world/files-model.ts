import { readFile, rm } from 'node:fs/promises';
import { createFolderBlobs, keyOfName } from '../../adapters/filesystem/blobs.ts';
import type { BlobStore } from '../../src/image/store.ts';
import { filesIn, readBytes, removeFile, WORLD, writeBytes } from './files.ts';
import { stir } from './time.ts';

interface File {
  bytes: Uint8Array<ArrayBuffer>;
  modified: number;
}

/** A folder or a bucket, in memory. */
export interface FilesModel {
  blobs: BlobStore;
  /** Keys and contents. */
  files: ReadonlyMap<string, File>;
  /** What it holds now, to be put back later. */
  backup(): () => void;
  clear(): void;
}

/** @param now the clock of the storage, ms since 1970. */
export function createFilesModel(now: () => number): FilesModel {
  const files = new Map<string, File>();

  async function* list() {
    const all = [...files].map(([key, { bytes, modified }]) => ({ key, size: bytes.byteLength, modified }));
    for (let from = 0; from < all.length; from += 50) yield all.slice(from, from + 50);
  }

  return {
    files,
    blobs: {
      async put(key, path) {
        const bytes = new Uint8Array(await readFile(path));
        files.set(key, { bytes, modified: now() });
        await rm(path);
      },
      async get(key, range) {
        const file = files.get(key);
        return file ? streamOf(file.bytes.slice(range?.start, range?.end)) : null;
      },
      async stat(key) {
        const file = files.get(key);
        return file ? { key, size: file.bytes.byteLength, modified: file.modified } : null;
      },
      async remove(key) {
        files.delete(key);
      },
      async move(key, to) {
        const file = files.get(key);
        if (!file) return false;
        files.delete(key);
        files.set(to, { ...file, modified: now() });
        return true;
      },
      list,
    },
    backup() {
      const copy = new Map(files);
      return () => {
        files.clear();
        for (const [key, file] of copy) files.set(key, file);
      };
    },
    clear: () => files.clear(),
  };
}

/** The adapter for folders, on the disk of the world. */
export function createFolderFiles(): FilesModel {
  const folder = `${WORLD}images/`;
  const fileBody = async (path: string, start: number, end: number) =>
    streamOf(new Uint8Array(readBytes(path).slice(start, end)));
  const clear = () => {
    for (const [path] of filesIn(folder)) removeFile(path);
  };
  return {
    blobs: createFolderBlobs({ folder, fileBody }),
    get files() {
      return new Map(
        filesIn(folder).map(([path, { bytes, at }]) => {
          const key = keyOfName(path.split('/').at(-1) ?? '');
          return [key, { bytes: new Uint8Array(bytes), modified: at }];
        }),
      );
    },
    backup() {
      const copy = filesIn(folder);
      return () => {
        clear();
        for (const [path, { bytes, at }] of copy) writeBytes(path, bytes, at);
      };
    },
    clear,
  };
}

/** The runtime's own streams of bytes take more turns of the event loop at some times than at others. */
function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let isRead = bytes.byteLength === 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        stir();
        if (isRead) return controller.close();
        isRead = true;
        controller.enqueue(bytes);
      },
    },
    { highWaterMark: 0 },
  );
}
