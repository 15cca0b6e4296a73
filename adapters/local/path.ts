import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';

/** The path in a URL such as `file:./data`, made absolute. */
export function pathOf(url: string): string {
  return resolve(url.slice(url.indexOf(':') + 1));
}

/** The path behind all links, so that two spellings of one place are equal. */
export async function placeOf(url: string): Promise<readonly string[]> {
  const path = pathOf(url);
  return [await realpath(path).catch(() => path)];
}
