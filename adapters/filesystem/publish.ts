import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCode } from './errors.ts';
import { PARTIAL, type Place } from './paths.ts';

/**
 * Moves a file to its place, replacing any file there. When it resolves, content and name are on the disk and survive
 * a power failure. A rename is atomic only within one file system; a file from another is copied first.
 */
export async function publish(source: string, place: Place): Promise<void> {
  await sync(source, 'r+');
  try {
    await moveInto(source, place);
  } catch (error) {
    if (systemCode(error) !== 'EXDEV') throw error;
    await publishCopy(source, place);
    await unlink(source);
  }
  await sync(place.folder, 'r');
}

async function publishCopy(source: string, place: Place): Promise<void> {
  const partials = join(dirname(place.folder), PARTIAL);
  await mkdir(partials, { recursive: true, mode: 0o700 });
  const copy = join(partials, randomUUID());
  try {
    await copyFile(source, copy);
    await sync(copy, 'r+');
    await moveInto(copy, place);
  } catch (error) {
    await unlink(copy).catch(() => undefined);
    throw error;
  }
}

/** Renames a file to its place, creating the folder if it is missing. */
export async function moveInto(source: string, { folder, path }: Place): Promise<void> {
  try {
    await rename(source, path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    if ((await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined)
      await sync(dirname(folder), 'r');
    await rename(source, path);
  }
}

async function sync(path: string, flags: 'r' | 'r+'): Promise<void> {
  const file = await open(path, flags);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
