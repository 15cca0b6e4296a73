import { AppError, inEnglish } from '../../errors.ts';
import { type Locks, writeHeld } from '../../lib/locks.ts';
import type { StateStore } from '../../lib/state.ts';
import type { BlobStore } from '../store.ts';
import { readNote, writeNote } from './note.ts';

/** Name of the value, and of the blob, that count the common steps of records and files. */
export const EPOCH_STATE = 'image-files-epoch';
export const EPOCH_BLOB = 'picpool-files-epoch';

const LOCK = 'image-epoch';
const LOCK_TTL_MS = 30_000;

/** The epochs of both stores; `null` if one is missing. */
interface Epochs {
  records: number | null;
  files: number | null;
}

interface EpochStores {
  state: Pick<StateStore, 'get' | 'getOrSet' | 'setFenced'>;
  blobs: Pick<BlobStore, 'get' | 'put'>;
}

/** Reads the files first: a step taken meanwhile then looks like an interrupted one, which is not a fault. */
export async function readEpochs({
  state,
  blobs,
}: {
  state: Pick<StateStore, 'get'>;
  blobs: Pick<BlobStore, 'get'>;
}): Promise<Epochs> {
  const files = await readNote(blobs, EPOCH_BLOB);
  const records = await state.get(EPOCH_STATE);
  const number = (text: string | null) => (text === null || !/^\d+$/.test(text) ? null : Number(text));
  return { records: number(records), files: number(files) };
}

/**
 * Returns why the stores are not from the same time, as a sentence for the operator, or `null`. The records take each
 * step first, so they may be one ahead.
 */
export function epochFault({ records, files }: Epochs): string | null {
  if (records === null)
    return `The records have lost the value ${EPOCH_STATE}: they may be empty, or from elsewhere.`;
  if (files === null)
    return `The files have lost the mark ${EPOCH_BLOB}: they may be empty, or from elsewhere.`;
  if (records < files) return 'The records are older than the files: some of them have been lost.';
  if (records > files + 1) return 'The files are older than the records: some of them have been lost.';
  return null;
}

/** Gives both stores their first epoch, unless one of them already has one. */
export async function beginEpochs({ state, blobs }: EpochStores, folder: string): Promise<void> {
  const { records, files } = await readEpochs({ state, blobs });
  if (files !== null || (records !== null && records !== 1)) return;
  if ((await state.getOrSet(EPOCH_STATE, '1')) === '1') await writeNote(blobs, folder, EPOCH_BLOB, '1');
}

/**
 * Advances the epoch of both stores, so that a restored backup of only one of them is recognised. Returns false if the
 * stores are not from the same time. Rejects with `conflict` while another copy of the server does so, or has died doing so.
 */
export async function advanceEpoch(
  { state, blobs, locks }: EpochStores & { locks: Locks },
  folder: string,
): Promise<boolean> {
  const lease = await locks.acquire(LOCK, LOCK_TTL_MS);
  if (!lease)
    throw new AppError('conflict', inEnglish('Another copy is cleaning up.'), { retryAfterMs: 1000 });
  try {
    const epochs = await readEpochs({ state, blobs });
    if (epochFault(epochs) !== null) return false;
    const [records, files] = [epochs.records ?? 0, epochs.files ?? 0];
    // A step that was interrupted is finished first. After a second one, the records would be too far ahead for ever.
    const next = Math.max(records, files + 1);
    if (lease.lost.aborted) return false;
    if (next > records) await writeHeld(state, EPOCH_STATE, next, lease.token);
    if (lease.lost.aborted) return false;
    await writeNote(blobs, folder, EPOCH_BLOB, String(next));
    return true;
  } finally {
    await lease.release();
  }
}

/** Pairs the stores as they are, for an operator who knows that they belong together. */
export async function agreeOnEpoch(
  { state, blobs }: EpochStores & { state: Pick<StateStore, 'set'> },
  folder: string,
): Promise<void> {
  const { records, files } = await readEpochs({ state, blobs });
  const next = String(Math.max(records ?? 0, files ?? 0) + 1);
  await state.set(EPOCH_STATE, next);
  await writeNote(blobs, folder, EPOCH_BLOB, next);
}
