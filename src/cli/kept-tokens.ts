import { appendFile, chmod, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../config.ts';
import { CommandError } from './exit.ts';

interface KeptImage {
  /** Base URL of the server. */
  server: string;
  id: string;
}

const OWNER_ALONE = 0o600;
const OWNER_ALONE_FOLDER = 0o700;

/**
 * Opens the delete tokens of images uploaded from this account: `picpool/tokens` below `XDG_CONFIG_HOME`, or else
 * `~/.config`. It has lines with server, ID and token, of which the last of an image holds; without a token, the image
 * was forgotten. If neither folder is known, nothing can be kept. Programs may keep and forget tokens at the same time,
 * because lines are only appended.
 */
export function openKeptTokens({ XDG_CONFIG_HOME, HOME }: Environment) {
  const path = join(XDG_CONFIG_HOME || join(HOME || '~', '.config'), 'picpool', 'tokens');

  async function append(image: KeptImage, token: string): Promise<void> {
    if (path.startsWith('~')) throw new Error('HOME is not set');
    // A server chooses them, and must not write lines about the images of others.
    if (/\s/.test(image.id + token)) throw new Error('it would not be one line');
    await mkdir(dirname(path), { recursive: true, mode: OWNER_ALONE_FOLDER });
    // A full disk, or a crash, may have cut the line before.
    await appendFile(path, `\n${keyOf(image)}${token}\n`, { mode: OWNER_ALONE });
    // The file may be old, and readable by others.
    await chmod(path, OWNER_ALONE);
  }

  return {
    path,

    /** Rejects if the file cannot be written. */
    keep: append,
    forget: (image: KeptImage) => append(image, ''),

    /** Returns the token of an image, or `null` if none was kept. */
    async find(image: KeptImage): Promise<string | null> {
      const key = keyOf(image);
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return '';
        throw new CommandError(`${path} cannot be read (${error.code}).`);
      });
      const line = text.split('\n').findLast((one) => one.startsWith(key));
      return line?.slice(key.length) || null;
    },
  };
}

function keyOf({ server, id }: KeptImage): string {
  return `${server} ${id} `;
}
