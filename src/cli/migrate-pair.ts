import type { Stores } from '../../adapters/open.ts';
import { EPOCH_BLOB, EPOCH_STATE } from '../image/maintenance/epoch.ts';
import { writeNote } from '../image/maintenance/note.ts';
import { IDENTITY_STATE, readMark, writeMark } from '../image/maintenance/store-identity.ts';
import { CommandError } from './exit.ts';
import type { ImageTarget } from './migrate-images.ts';

/**
 * Marks the new stores as those of this installation before anything else, so that an interrupted copy is recognised.
 * Takes over stores that were started once and hold no images. `folder`: for a temporary file.
 * @throws {CommandError} if they belong to another installation.
 */
export async function claim(
  from: Pick<Stores, 'state' | 'blobs'>,
  to: MigrationTarget,
  folder: string,
): Promise<void> {
  const id = (await from.state.get(IDENTITY_STATE)) ?? (await readMark(from.blobs));
  const known = to.metadata && (await to.metadata.state.get(IDENTITY_STATE));
  const marked = to.blobs && (await readMark(to.blobs));
  const isEmpty = to.metadata !== null && (await to.metadata.images.summary()).images === 0;
  const isFree = (mark: string | null) => mark === null || mark === id || (isEmpty && known === mark);
  if (!isFree(known) || !isFree(marked)) {
    throw new CommandError('The new stores already hold the images of another installation.');
  }
  if (id === null) return;
  if (to.metadata) await to.metadata.state.set(IDENTITY_STATE, id);
  if (to.blobs && marked !== id) await writeMark(to.blobs, folder, id);
}

/**
 * Advances the new files to the epoch of their records. Call it when everything is copied: from then on neither is
 * older than the other. `folder`: for a temporary file.
 */
export async function bringToEpoch(
  from: Pick<Stores, 'state'>,
  to: MigrationTarget,
  folder: string,
): Promise<void> {
  const { blobs } = to;
  if (blobs === null) return;
  const epoch = await (to.metadata ?? from).state.get(EPOCH_STATE);
  if (epoch !== null) await writeNote(blobs, folder, EPOCH_BLOB, epoch);
}

/** Where everything is copied to; `null`: that part stays where it is. */
interface MigrationTarget extends ImageTarget {
  metadata: Pick<Stores, 'images' | 'state'> | null;
}
