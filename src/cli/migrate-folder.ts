import { rmSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { isRunning } from '../lib/is-running.ts';
import { temporaryFolder } from '../start/data-folder.ts';

const NAME = /^picpool-migrate-(\d+)$/;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Runs the work with a folder for temporary files, which is removed afterwards, even if a signal ends the program.
 * What `kill -9` leaves is removed by the next run, or by the sweep of a server with that `DATA_DIR`.
 */
export async function withWorkFolder<T>(dataDir: string, work: (folder: string) => Promise<T>): Promise<T> {
  const hasData = await stat(dataDir).catch(() => null);
  const parent = hasData ? temporaryFolder({ DATA_DIR: dataDir }) : tmpdir();
  await removeLeftovers(parent);
  const folder = join(parent, `picpool-migrate-${process.pid}`);
  const end = () => {
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  };
  for (const signal of SIGNALS) process.once(signal, end);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return await work(folder);
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
    await rm(folder, { recursive: true, force: true });
  }
}

async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const [, pid] = NAME.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(parent, name), { recursive: true, force: true });
  }
}
