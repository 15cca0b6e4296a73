import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { keyOfName } from '../../../adapters/filesystem/blobs.ts';
import { runServer } from '../servers/running-server.ts';
import { storedFiles } from './files.ts';
import { startCopies } from './world.ts';

export type LocalWorld = Awaited<ReturnType<typeof startLocalWorld>>;

/** One server over SQLite and a folder, which outlive it. */
export async function startLocalWorld() {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-loss-'));
  const env = {
    DATA_DIR: folder,
    SERVICES: 'image',
    RATE_LIMITS: 'off',
    IMAGE_CLEANUP_INTERVAL: '1s',
  };
  const files = storedFiles(join(folder, 'images'), (path) => keyOfName(basename(path)));
  const running = await startCopies(1, env, files, runServer);
  return {
    ...running,
    /** `DATA_DIR`. */
    folder,
    async stop() {
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
