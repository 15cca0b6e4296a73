import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';

/** What a mode gives to others than the owner. */
const OTHERS = 0o077;

/**
 * Makes every file and folder that this process and its children create from now on the owner's alone. Deno cannot be given
 * that permission by name: there the modes that each file is created with do the same.
 */
export function keepNewFilesPrivate(): void {
  try {
    process.umask(OTHERS);
  } catch (error) {
    if (!(error instanceof Error && error.name === 'NotCapable')) throw error;
  }
}

export interface DataFolder {
  path: string;
  /** Whether an entry of the folder, by its name, belongs to the server. */
  isOwn(name: string): boolean;
}

/**
 * Takes from everyone but the owner what an earlier version left readable: the server's own entries with all that
 * is below them, and the folder itself unless it holds what is not the server's. Symbolic links are left alone.
 * Returns the paths whose mode could not be changed.
 */
export async function closeDataFolder({ path, isOwn }: DataFolder): Promise<string[]> {
  const refused: string[] = [];
  const names = readdirSync(path);
  // The folder first: nothing below it can be reached then.
  if (names.every((name) => isOwn(name) || name === 'lost+found')) closeOne(path, refused);
  for (const name of names.filter(isOwn)) await closeTree(join(path, name), refused);
  return refused;
}

/** A folder that is closed was closed after all below it, so it need not be looked through again. */
async function closeTree(path: string, refused: string[]): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.isSymbolicLink() || (found.mode & OTHERS) === 0) return;
  if (found.isDirectory()) {
    for (const name of readdirSync(path)) await closeTree(join(path, name), refused);
    // There may be thousands of folders, and a signal to stop must get through.
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
