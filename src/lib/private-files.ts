import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

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
 * Removes the permissions of everyone but the owner that an earlier version or a copy left: from the server's own entries,
 * below which nobody else then gets, and from the folder itself unless it contains something else. Symbolic links are left
 * alone. Returns the paths whose mode could not be changed.
 */
export function closeDataFolder({ path, isOwn }: DataFolder): string[] {
  const names = readdirSync(path);
  const isAllOwn = names.every((name) => isOwn(name) || name === 'lost+found');
  // The folder first, so that nothing below it can be reached.
  const paths = [...(isAllOwn ? [path] : []), ...names.filter(isOwn).map((name) => join(path, name))];
  return paths.filter((one) => {
    const found = lstatSync(one, { throwIfNoEntry: false });
    if (!found || found.isSymbolicLink() || (found.mode & OTHERS) === 0) return false;
    try {
      chmodSync(one, found.mode & 0o700);
      return false;
    } catch {
      return true;
    }
  });
}
