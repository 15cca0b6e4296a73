import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFolderBlobs } from '../../../adapters/filesystem/blobs.ts';
import { createLocalLocks } from '../../../adapters/local/locks.ts';
import { createLocalRateLimiter } from '../../../adapters/local/rate-limiter.ts';
import type { BlobStore } from '../../../src/image/store.ts';
import type { Locks } from '../../../src/lib/locks.ts';
import type { Runtime } from '../../../src/runtime/runtime.ts';
import type { TimedLimiter } from '../../conformance/rate-limiter.ts';
import type { Open } from '../runner.ts';

export const openLocalLocks: Open<readonly [Locks, Locks]> = async () => {
  const locks = createLocalLocks();
  return { store: [locks, locks], close: async () => {} };
};

export const openLocalLimiter: Open<TimedLimiter> = async () => {
  let now = 1_700_000_000_000;
  const limiter = createLocalRateLimiter({ now: () => now });
  const advance = async (ms: number) => {
    now += ms;
  };
  return { store: { limiter, advance }, close: async () => {} };
};

/** Blobs in a folder that does not exist yet. */
export function folderOpener(fileBody: Runtime['fileBody']): Open<BlobStore> {
  return async () => {
    const root = await mkdtemp(join(tmpdir(), 'picpool-blobs-'));
    const store = createFolderBlobs({ folder: join(root, 'new', 'images'), fileBody });
    return { store, close: () => rm(root, { recursive: true }) };
  };
}
