import { createDeletionRights } from './access/deletion-rights.ts';
import { createPasswordHasher, type PasswordHasher } from './access/password.ts';
import { openProtection, type ProtectionOptions } from './access/password-guard.ts';
import type { ImageRecord } from './image.ts';
import { createFilesGuard } from './maintenance/missing-files.ts';
import { createServiceTime } from './maintenance/service-time.ts';
import { readMark } from './maintenance/store-identity.ts';
import { createUnfinished } from './maintenance/unfinished.ts';
import { createUpkeep, type UpkeepOptions } from './maintenance/upkeep.ts';
import { createOwnerActions, type OwnerActionsOptions } from './owner-actions.ts';
import { createImageFiles } from './records/image-files.ts';
import { createListings } from './records/listing.ts';
import { createRecordCache } from './records/records.ts';
import type { Reviews } from './review/reviews.ts';
import { createCaching } from './serve/conditional.ts';
import { createLimitedViews } from './serve/limited-views.ts';
import { createThumbnails, createVersionBytes } from './serve/thumbnails.ts';
import type { ImageLimits } from './upload/quota.ts';
import { createStoring, type StoringOptions } from './upload/storing.ts';

/** What its parts need, which say what each is for, and the following. */
export interface ImageServiceOptions
  extends Omit<ProtectionOptions, 'hasher'>,
    Pick<StoringOptions, 'codec' | 'folder' | 'quota' | 'mayUpload' | 'holdBack'>,
    Partial<Pick<StoringOptions, 'mayStore'>>,
    Pick<UpkeepOptions, 'images' | 'blobs' | 'locks' | 'onCleaned' | 'onDoubt'>,
    Pick<OwnerActionsOptions, 'audit'> {
  /** Default: scrypt at its usual cost. */
  hasher?: PasswordHasher;
  limits: ImageLimits;
  /** The pictures in review. */
  reviews?: Pick<Reviews, 'find' | 'withdraw' | 'removeExpired'>;
  onEvent?: (event: ImageEvent) => void;
}

/** An image was stored, changed, or removed by its uploader, the administrator or the cleanup. */
export interface ImageEvent {
  type: 'stored' | 'changed' | 'removed';
  image: ImageRecord;
}

/** Assembles the image host. Reads, or creates, the keys of its cookies. */
export async function createImageService(options: ImageServiceOptions) {
  const { images, blobs, state, locks, limiter, codec, clock, random, folder, limits, log } = options;
  const { guesses, quota, reviews, mayStore = async () => {}, onEvent = () => {} } = options;
  const now = () => clock.now();
  const serviceTime = createServiceTime({ state, locks, limits, now, log });
  await serviceTime.note().catch((cause) => log('warn', 'time of service not noted', { cause }));
  const hasher = options.hasher ?? createPasswordHasher(random);
  const protection = await openProtection({ state, limiter, guesses, hasher, clock, random, log });
  const rights = createDeletionRights(limits.deleteByAddressMs, now);
  const records = createRecordCache(images, now);
  const bytes = createVersionBytes(state);
  const thumbnails = createThumbnails({ blobs, images, codec, folder, quota, bytes, now });
  const requireFiles = createFilesGuard({ images, blobs, state, readMark: () => readMark(blobs), now });
  const files = createImageFiles({ images, blobs, thumbnails, requireFiles, log });

  /** Must be called when the record is gone. */
  async function onRemoved(image: ImageRecord): Promise<void> {
    records.forget(image.id);
    log('info', 'image removed', { id: image.id });
    onEvent({ type: 'removed', image });
    await files.remove(image);
  }

  const onChanged = (image: ImageRecord) => onEvent({ type: 'changed', image });
  const unfinished = createUnfinished({
    ...{ images, state, reviews, records, onChanged, onRemoved, random, now, log },
    removeFiles: files.remove,
  });
  const parts = {
    ...options,
    mayStore,
    hasher,
    rights,
    rules: limits,
    records,
    files,
    serviceTime,
    now,
    onChanged,
    onRemoved,
    unfinished,
  };
  const storing = createStoring({
    ...parts,
    requireFiles,
    onStored: (image) => onEvent({ type: 'stored', image }),
    stamp: serviceTime.stamp,
  });
  const ownerActions = createOwnerActions({ ...parts, reviews });
  const upkeep = createUpkeep({
    ...parts,
    onVersionBytes: bytes.recount,
  });

  return {
    limits,
    /** Returns the time by the clock of the server, in ms since 1970. */
    now,
    /** The folder for temporary files, created when it is first needed. */
    folder,
    ...protection,
    ...createListings(images, limits, now),
    ...createCaching(limits, now),
    ...ownerActions,
    ...upkeep,
    ...storing,
    /**
     * Returns the record. Rejects with `not_found`, or with `gone` if it has expired or has no views left. A deletion
     * by another copy of the server may take up to two seconds to show.
     */
    find: records.find,
    /** Returns the record if it is cached. */
    cached: records.cached,
    /** Returns the stored file if it is in memory. */
    cachedFile: files.cached,
    /** Returns the file of an image in that shape. Rejects with `not_found` if it is missing, with `unavailable` if all are. */
    read: files.read,
    /** Returns the file to send for that shape. A version that does not exist yet is created at the payer's expense. */
    version: files.version,
    /**
     * Takes a view of an image with limited views. Rejects with `gone`, or with `busy` while the last view is in
     * progress.
     */
    takeView: createLimitedViews({ ...parts, sleep: clock.sleep }),
    start() {
      protection.start();
      upkeep.start();
    },
    async stop() {
      await Promise.all([upkeep.stop(), protection.stop()]);
    },
  };
}

/** The image host without HTTP. */
export type ImageService = Awaited<ReturnType<typeof createImageService>>;
