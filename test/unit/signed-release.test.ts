import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { withFolder } from '../support/temporary.ts';

const FILES = { 'picpool-linux-x64': 'a binary', 'picpool-linux-x64.cdx.json': '{}' };

async function exitOf(...command: string[]): Promise<number> {
  return Bun.spawn(command, { stdio: ['ignore', 'ignore', 'ignore'] }).exited;
}

/** A release signed with a key of its own, and its public key beside it. */
async function withRelease(work: (folder: string, keys: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const key = join(folder, 'key');
    expect(await exitOf('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'releases', '-f', key)).toBe(0);
    const sums = Object.entries(FILES).map(
      ([name, text]) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`,
    );
    for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, name), text);
    await writeFile(join(folder, 'SHA256SUMS'), sums.join(''));
    expect(await exitOf('scripts/sign-release', key, folder)).toBe(0);
    await work(folder, `${key}.pub`);
  });
}

const verify = (keys: string, folder: string) => exitOf('scripts/verify-release', keys, folder);

test.skipIf(absent('ssh-keygen'))(
  'a signed release passes, also where only some of its files were fetched',
  () =>
    withRelease(async (folder, keys) => {
      expect(await verify(keys, folder)).toBe(0);
      // Its name begins one of the sums.
      await writeFile(join(folder, 'picpool-linux'), 'unsigned');
      const verifying = Bun.spawn(['scripts/verify-release', keys, folder], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      expect(await new Response(verifying.stderr).text()).toContain('picpool-linux is not in SHA256SUMS');
      await rm(join(folder, 'picpool-linux-x64.cdx.json'));
      expect(await verify(keys, folder)).toBe(0);
    }),
);

test.skipIf(absent('ssh-keygen')).each([
  ['a binary was changed', (folder: string) => appendFile(join(folder, 'picpool-linux-x64'), '!')],
  [
    'the sums were changed',
    (folder: string) => appendFile(join(folder, 'SHA256SUMS'), `${'0'.repeat(64)}  x\n`),
  ],
  ['the signature is gone', (folder: string) => rm(join(folder, 'SHA256SUMS.sig'))],
  [
    'none of its files is there',
    (folder: string) => Promise.all(Object.keys(FILES).map((name) => rm(join(folder, name)))),
  ],
  [
    'somebody else has signed it',
    async (folder: string) => {
      const other = join(folder, 'other');
      await exitOf('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', other);
      await exitOf('scripts/sign-release', other, folder);
    },
  ],
] as [string, (folder: string) => Promise<unknown>][])('a release does not pass where %s', (_name, tamper) =>
  withRelease(async (folder, keys) => {
    await tamper(folder);
    expect(await verify(keys, folder)).not.toBe(0);
  }),
);
