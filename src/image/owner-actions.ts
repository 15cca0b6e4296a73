import { AppError } from '../errors.ts';
import type { Log } from '../lib/logger.ts';
import type { Deleter, DeletionRights } from './access/deletion-rights.ts';
import type { PasswordHasher } from './access/password.ts';
import type { AudienceRules } from './audience.ts';
import { type ChangeWish, changeOf } from './change.ts';
import { ID_PATTERN } from './ids.ts';
import type { ImageRecord } from './image.ts';
import { notFound } from './missing.ts';
import type { RecordCache } from './records.ts';
import type { Reviews } from './reviews.ts';
import type { ImageStore } from './store.ts';

/** What the uploader of an image, and the administrator, can do with it. */
export interface OwnerActions {
  /**
   * Changes an image for the holder of its delete token, or the administrator. Rejects with `not_found`, `gone`,
   * `forbidden`, also for a blocked file, and `invalid_parameter`.
   */
  change(id: string, wish: ChangeWish, by: Deleter): Promise<ImageRecord>;
  /** Removes an image, or a picture in review. Rejects with `not_found` or `forbidden`. */
  remove(id: string, by: Deleter): Promise<void>;
  /** Reports whether `remove` would be allowed. */
  mayRemove(image: ImageRecord, by: Deleter): boolean;
  /** Returns the record of a picture that still waits for the administrator, or `null`. */
  inReview(id: string): Promise<ImageRecord | null>;
}

interface OwnerActionsOptions {
  images: Pick<ImageStore, 'get' | 'change' | 'remove'>;
  records: Pick<RecordCache, 'find' | 'forget'>;
  reviews: Pick<Reviews, 'find' | 'withdraw'> | undefined;
  rights: Pick<DeletionRights, 'mayRemove'>;
  rules: AudienceRules;
  hasher: Pick<PasswordHasher, 'hash'>;
  /** Rejects with `forbidden` for a file, by its SHA-256, that must not be stored. */
  mayStore: (hash: string) => Promise<void>;
  onChanged: (image: ImageRecord) => void;
  /** Removes everything that belongs to a removed record. */
  onRemoved: (image: ImageRecord) => Promise<void>;
  now: () => number;
  log: Log;
}

export function createOwnerActions({
  images,
  records,
  reviews,
  rights,
  rules,
  hasher,
  mayStore,
  onChanged,
  onRemoved,
  now,
  log,
}: OwnerActionsOptions): OwnerActions {
  const inReview = async (id: string) => (ID_PATTERN.test(id) && (await reviews?.find(id))) || null;

  return {
    inReview,
    mayRemove: rights.mayRemove,

    async change(id, wish, by) {
      const image = await records.find(id);
      if (!rights.mayRemove(image, { ...by, peer: null })) {
        throw new AppError('forbidden', 'Changing an image needs its delete token.');
      }
      await mayStore(image.hash);
      const changed = await images.change(id, await changeOf(image, wish, { rules, hasher, now: now() }));
      records.forget(id);
      if (changed === null) throw notFound();
      log('info', 'image changed', { id });
      onChanged(changed);
      return changed;
    },

    async remove(id, by) {
      const stored = ID_PATTERN.test(id) ? await images.get(id) : null;
      const image = stored ?? (await inReview(id));
      if (image === null) throw notFound();
      if (!rights.mayRemove(image, by)) {
        throw new AppError('forbidden', 'Only the uploader may delete an image.');
      }
      if (stored) {
        if (!(await images.remove(id))) throw notFound();
        return onRemoved(stored);
      }
      if (!(await reviews?.withdraw(id))) throw notFound();
      log('info', 'image in review removed', { id });
    },
  };
}
