import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION } from '../../src/version.ts';
import { PROJECT } from './project.ts';

/**
 * Returns `install.sh` for this version. `RELEASE_URL` is the future address of the release files, by default the project's own, and
 * `RELEASE_KEY` the path of the key that signs them, public or private. Without one, users have to give it.
 */
export async function installScript(
  root: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const template = await readFile(join(root, 'scripts/build/install.sh'), 'utf8');
  const key = env.RELEASE_KEY ? await readFile(`${env.RELEASE_KEY.replace(/\.pub$/, '')}.pub`, 'utf8') : '';
  const given = {
    VERSION,
    RELEASE_URL: (env.RELEASE_URL ?? PROJECT.releaseUrl).replace(/\/+$/, ''),
    KEYS: key.trim(),
  };
  for (const [name, value] of Object.entries(given)) {
    if (value.includes("'")) throw new Error(`${name} must not have a quotation mark in it.`);
  }
  return template.replace(/@(VERSION|RELEASE_URL|KEYS)@/g, (_, name: keyof typeof given) => given[name]);
}
