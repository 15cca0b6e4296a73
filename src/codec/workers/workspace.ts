import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { copyFile, link, lstat, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { storing } from '../../lib/storage-full.ts';
import { readHeader } from '../convert/header.ts';
import type { Converted, ConvertJob } from './protocol.ts';

/** What callers are told if the disk is full. */
export const FULL = 'There is no space left to convert the image.';

/** No conversion takes longer. */
const LONGEST_JOB_MS = 3_600_000;

export function createWorkspace(folder: string) {
  const [given, made] = [join(folder, 'given'), join(folder, 'made')];
  const [input, output] = [join(given, 'picture'), join(made, 'picture')];
  rmSync(folder, { recursive: true, force: true });
  for (const path of [given, made]) mkdirSync(path, { recursive: true, mode: 0o700 });

  return {
    folder,

    /** Places the input of a job there. Returns the job with the paths as the worker sees them. */
    async load(job: ConvertJob): Promise<ConvertJob> {
      // The file is on another file system, or one without links: copy it.
      await storing(
        link(job.input, input).catch(() => copyFile(job.input, input)),
        FULL,
      );
      await storing(writeFile(output, '', { flag: 'wx', mode: 0o600 }), FULL);
      return { ...job, input, output };
    },

    /**
     * Copies the result to where the job wants it, because the worker may still have the file open. Rejects if it is
     * not what the worker says.
     */
    async unload(job: ConvertJob, { format, size }: Converted): Promise<void> {
      const [found, header] = await storing(Promise.all([lstat(output), readHeader(output)]), FULL);
      const kind = header?.kind === 'heif' ? 'avif' : header?.kind;
      if (!found.isFile() || found.size !== size || kind !== format) {
        throw new Error('conversion failed: the result is not what the worker says');
      }
      await storing(copyFile(output, job.output), FULL);
    },

    /** Removes the files of the last job. */
    async empty(): Promise<void> {
      for (const path of [given, made]) {
        for (const name of await readdir(path)) await rm(join(path, name), { recursive: true, force: true });
      }
    },

    /** Reports whether nobody has removed its folders. */
    isWhole: () => [given, made].every((path) => existsSync(path)),

    /** Removes the folder, or leaves it to `removeOldWorkspaces`. Never throws. */
    remove(): void {
      try {
        rmSync(folder, { recursive: true, force: true });
      } catch {
        // The disk cannot be written. The next start removes it.
      }
    },
  };
}

/**
 * The folder of one worker, which is all the data it can see: `given` holds the picture to convert, `made` an empty
 * file for the result.
 */
export type Workspace = ReturnType<typeof createWorkspace>;

/** Removes the folders of workers whose server no longer runs. Their names begin with its process ID; others are not ours. */
export async function removeOldWorkspaces(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  for (const name of await readdir(root)) {
    if (!/^\d+-[0-9a-f]{8}-\d+$/.test(name)) continue;
    const owner = Number.parseInt(name, 10);
    const folder = join(root, name);
    if (owner === process.pid || !(await mayBeRunning(owner, folder)))
      await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Reports whether a process with this ID exists. Its user does not matter. Where Deno may not ask, one may for as long as its
 * folder had a job in the last hour.
 */
async function mayBeRunning(pid: number, folder: string): Promise<boolean> {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    if (name !== 'NotCapable') return code === 'EPERM';
    const used = await stat(join(folder, 'given')).catch(() => null);
    return used !== null && used.mtimeMs > Date.now() - LONGEST_JOB_MS;
  }
}
