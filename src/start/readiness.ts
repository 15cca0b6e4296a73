import type { Dependency } from '../http/system-routes.ts';
import { writeNote } from '../image/maintenance/note.ts';
import type { BlobStore } from '../image/store.ts';
import { cachedFor } from '../lib/answer-cache.ts';
import type { StateStore } from '../lib/state.ts';

/** Name of the value, and of the blob, that test whether writing is possible. */
const STATE = 'readiness';
const BLOB = 'picpool-readiness';
/** How long a passed check stays valid, in ms, so that frequent requests cost little. */
const RECORDS_BELIEVED_MS = 5000;
const FILES_BELIEVED_MS = 60_000;

const monotonic = () => performance.now();

/** Checks that records can be read and written. `needed`: the service that cannot work without reading them. */
export function recordChecks(state: Pick<StateStore, 'get' | 'set'>, needed?: string): Dependency[] {
  return [
    {
      fault: 'The record store does not respond.',
      check: () => state.get(STATE),
      ...(needed !== undefined && { needed }),
    },
    {
      fault: 'The record store is not writable.',
      check: cachedFor(RECORDS_BELIEVED_MS, monotonic, () => state.set(STATE, new Date().toISOString())),
    },
  ];
}

/** Checks that image files can be read and written. `folder`: for a temporary file. */
export function fileChecks(blobs: BlobStore, folder: string, needed: string): Dependency[] {
  return [
    // Not `stat`, which cannot tell a missing bucket from a missing file.
    { fault: 'The image store does not respond.', check: () => blobs.get(STATE), needed },
    {
      fault: 'The image store is not writable.',
      check: cachedFor(FILES_BELIEVED_MS, monotonic, () =>
        writeNote(blobs, folder, BLOB, 'written to see whether it can be'),
      ),
    },
  ];
}
