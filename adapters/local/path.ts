import { resolve } from 'node:path';

/** Returns the absolute path of a URL such as `file:./data`. */
export function pathOf(url: string): string {
  return resolve(url.slice(url.indexOf(':') + 1));
}
