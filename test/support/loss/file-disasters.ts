import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { run } from '../run.ts';
import { aDay, type Disaster } from './disaster.ts';
import type { Copies } from './world.ts';

const MARK = 'picpool-files-id';

/** Two folders change places. */
export async function swap(one: string, other: string): Promise<void> {
  await rename(one, `${one}-aside`);
  await rename(other, one);
  await rename(`${one}-aside`, other);
}

/** A copy with everything that the S3 server keeps in attributes of the files. */
export const copyAll = (from: string, to: string) => run(['cp', '-a', from, to]);

/** Moves what is in a folder into another one, over what is there. */
async function merge(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      await mkdir(target, { recursive: true });
      await merge(source, target);
    } else await rename(source, target);
  }
  await rm(from, { recursive: true });
}

/** What happens to files, wherever they are. */
export const FILE_DISASTERS: Disaster<Copies>[] = [
  {
    name: 'all files vanish',
    putsBack: 'files',
    reason: /none of their files at BLOBS_URL/,
    async strike({ files: { folder } }) {
      await rename(folder, `${folder}-away`);
      await mkdir(folder);
      return () => merge(`${folder}-away`, folder);
    },
  },
  {
    name: 'the files of yesterday are put back',
    putsBack: 'files',
    reason: /The files are older than the records/,
    swapsFiles: true,
    async strike(world, ledger) {
      const { folder } = world.files;
      const yesterday = `${folder}-yesterday`;
      await copyAll(folder, yesterday);
      await aDay(world, ledger);
      await swap(folder, yesterday);
      return async () => {
        await swap(folder, yesterday);
        await rm(yesterday, { recursive: true });
      };
    },
  },
  {
    name: "another installation's files come in their place",
    putsBack: 'files',
    reason: /The files belong to other records/,
    swapsFiles: true,
    async strike(world) {
      const { folder } = world.files;
      const other = `${folder}-other`;
      await copyAll(folder, other);
      await writeFile(join(other, await pathOf(other, MARK)), 'another installation\n');
      for (const path of await readdir(other, { recursive: true })) {
        const { dir, name, ext } = parse(path);
        // Images of its own.
        if (ext === '.webp')
          await rename(join(other, path), join(other, dir, [...name].reverse().join('') + ext));
      }
      const theirs = await readdir(other, { recursive: true });
      await swap(folder, other);
      return async () => {
        const left = new Set(await readdir(folder, { recursive: true }));
        const gone = theirs.filter((name) => !left.has(name) && !name.includes('picpool'));
        await swap(folder, other);
        await rm(other, { recursive: true });
        if (gone.length > 0) throw new Error(`files of the other installation are gone: ${gone}`);
      };
    },
  },
];

/** Where below the folder the file with that name is, or could be. */
async function pathOf(folder: string, name: string): Promise<string> {
  return (await readdir(folder, { recursive: true })).find((one) => one.split('/').at(-1) === name) ?? name;
}
