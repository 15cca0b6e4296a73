import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Returns the absolute path of a URL such as `file:./data`. */
export function pathOf(url: string): string {
  return resolve(url.slice(url.indexOf(':') + 1));
}

/** Returns the path with all links resolved, so that two spellings of one place are equal. */
export async function placeOf(url: string): Promise<readonly string[]> {
  const path = pathOf(url);
  return [await realpath(path).catch(() => path)];
}
