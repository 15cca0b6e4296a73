import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';

/** The permissions of everyone but the owner. */
const OTHERS = 0o077;

/**
 * Makes every file and folder that this process and its children create from now on private to the owner. Deno has no
 * separate permission for that: there, the mode with which each file is created has the same effect.
 */
export function keepNewFilesPrivate(): void {
  try {
    process.umask(OTHERS);
  } catch (error) {
    if (!(error instanceof Error && error.name === 'NotCapable')) throw error;
  }
}

interface DataFolder {
  path: string;
  /** Reports whether an entry of the folder, by its name, belongs to the server. */
  isOwn(name: string): boolean;
}

/**
 * Removes the permissions of everyone but the owner that an earlier version left: from the server's own entries with
 * everything below them, and from the folder itself unless it contains something else. Symbolic links are left alone.
 * Returns the paths whose mode could not be changed.
 */
export async function closeDataFolder({ path, isOwn }: DataFolder): Promise<string[]> {
  const refused: string[] = [];
  const names = readdirSync(path);
  // The folder first, so that nothing below it can be reached.
  if (names.every((name) => isOwn(name) || name === 'lost+found')) closeOne(path, refused);
  for (const name of names.filter(isOwn)) await closeTree(join(path, name), refused);
  return refused;
}

/** A private folder became so after everything below it, so it does not have to be searched again. */
async function closeTree(path: string, refused: string[]): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.isSymbolicLink() || (found.mode & OTHERS) === 0) return;
  if (found.isDirectory()) {
    for (const name of readdirSync(path)) await closeTree(join(path, name), refused);
    // There may be thousands of folders, and a signal to stop must be handled.
    await setImmediate();
  }
  closeOne(path, refused);
}

function closeOne(path: string, refused: string[]): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.isSymbolicLink() || (found.mode & OTHERS) === 0) return;
  try {
    chmodSync(path, found.mode & 0o700);
  } catch {
    refused.push(path);
  }
}
