import { appendFile, chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../config.ts';

/** The delete tokens of images uploaded from this account. */
interface KeptTokens {
  /** Path of the file. */
  readonly path: string;
  keep(image: KeptImage, token: string): Promise<void>;
  /** Returns the token of an image, or `null` if none was kept. */
  find(image: KeptImage): Promise<string | null>;
  forget(image: KeptImage): Promise<void>;
}

export interface KeptImage {
  /** Base URL of the server. */
  server: string;
  id: string;
}

const OWNER_ALONE = 0o600;
const OWNER_ALONE_FOLDER = 0o700;

/**
 * Opens `picpool/tokens` below `XDG_CONFIG_HOME`, or else `~/.config`, which has one line for each token: server, ID
 * and token. Returns `null` if neither folder is known. Two programs may add tokens at the same time, because lines
 * are appended.
 */
export function openKeptTokens({ XDG_CONFIG_HOME, HOME }: Environment): KeptTokens | null {
  const base = XDG_CONFIG_HOME || (HOME ? join(HOME, '.config') : null);
  if (base === null) return null;
  const path = join(base, 'picpool', 'tokens');

  async function lines(): Promise<string[]> {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    return text.split('\n').filter((line) => line !== '');
  }

  return {
    path,

    async keep(image, token) {
      await mkdir(dirname(path), { recursive: true, mode: OWNER_ALONE_FOLDER });
      await appendFile(path, `${keyOf(image)}${token}\n`, { mode: OWNER_ALONE });
      // The file may be old, and readable by others.
      await chmod(path, OWNER_ALONE);
    },

    async find(image) {
      const key = keyOf(image);
      const line = (await lines()).findLast((one) => one.startsWith(key));
      return line === undefined ? null : line.slice(key.length);
    },

    async forget(image) {
      const key = keyOf(image);
      const kept = (await lines()).filter((line) => !line.startsWith(key));
      await writeFile(`${path}.new`, kept.map((line) => `${line}\n`).join(''), { mode: OWNER_ALONE });
      await rename(`${path}.new`, path);
    },
  };
}

function keyOf({ server, id }: KeptImage): string {
  return `${server} ${id} `;
}
