import type { Audit } from '../audit/audit.ts';
import type { Codec } from '../codec/codec.ts';
import type { Clock } from '../lib/clock.ts';
import type { Locks } from '../lib/locks.ts';
import type { Log } from '../lib/logger.ts';
import type { Bucket, RateLimiter } from '../lib/rate-limiter.ts';
import type { StateStore } from '../lib/state.ts';
import { createDeletionRights } from './access/deletion-rights.ts';
import { createPasswordHasher, type PasswordHasher } from './access/password.ts';
import { openProtection, type Protection } from './access/password-guard.ts';
import type { ImageRecord } from './image.ts';
import type { OnCleaned } from './maintenance/maintenance.ts';
import { createFilesGuard } from './maintenance/missing-files.ts';
import { createServiceTime } from './maintenance/service-time.ts';
import { readMark } from './maintenance/store-identity.ts';
import { createUnfinished } from './maintenance/unfinished.ts';
import { createUpkeep, type Upkeep } from './maintenance/upkeep.ts';
import { createOwnerActions, type OwnerActions } from './owner-actions.ts';
import type { Shape } from './records/blob-keys.ts';
import type { RandomBytes } from './records/ids.ts';
import { createImageFiles } from './records/image-files.ts';
import { createListings, type Listings } from './records/listing.ts';
import { createRecordCache } from './records/records.ts';
import type { Reviews } from './review/reviews.ts';
import { type Caching, createCaching } from './serve/conditional.ts';
import { createLimitedViews, type View } from './serve/limited-views.ts';
import { createThumbnails, createVersionBytes, type Version } from './serve/thumbnails.ts';
import type { BlobStore, ByteRange, ImageStore } from './store.ts';
import type { ImageLimits, Quota } from './upload/quota.ts';
import { createStoring, type Storing } from './upload/storing.ts';

export interface ImageServiceOptions {
  images: ImageStore;
  blobs: BlobStore;
  state: StateStore;
  locks: Locks;
  limiter: RateLimiter;
  /** Wrong passwords from one network; see `createGuessLimits`. */
  guesses?: Bucket;
  codec: Pick<Codec, 'convert'> & Partial<Pick<Codec, 'admit'>>;
  clock: Pick<Clock, 'now' | 'sleep'>;
  random: RandomBytes;
  /** Default: scrypt at its usual cost. */
  hasher?: PasswordHasher;
  /** Folder for temporary files, ideally on the file system of the images if they are files. */
  folder: string;
  limits: ImageLimits;
  /** Keeps uploads from filling the storage. */
  quota?: Pick<Quota, 'admit' | 'reserve'>;
  /** Rejects with `forbidden` for a file, by its SHA-256 or its perceptual hash, that must not be stored. */
  mayStore?: (hash: string, phash?: string | null) => Promise<void>;
  /** Rejects with `forbidden` for an upload that must not be converted. */
  mayUpload?: (file: { path: string; sha256: string | undefined; peer: string }) => Promise<void>;
  /**
   * Called with each picture, in the file at `path`, before it is stored. Returns true if it was taken over for
   * review. Rejects if it is refused.
   */
  holdBack?: (image: ImageRecord, path: string, payer: string) => Promise<boolean>;
  /** The pictures in review. */
  reviews?: Pick<Reviews, 'find' | 'withdraw' | 'removeExpired'>;
  /** Called when images are stored, changed or removed. */
  onEvent?: (event: ImageEvent) => void;
  /** Called after each cleanup of this copy that was complete. */
  onCleaned?: OnCleaned;
  /** Called with the reasons why no file is removed, or with none when files are removed again. */
  onDoubt?: (reasons: readonly string[]) => void;
  /** Where acts are logged before they are carried out. */
  audit: Pick<Audit, 'act' | 'carry' | 'once' | 'about'>;
  log: Log;
}

/** An image was stored, changed, or removed by its uploader, the administrator or the cleanup. */
export interface ImageEvent {
  type: 'stored' | 'changed' | 'removed';
  image: ImageRecord;
}

/** The image host without HTTP. */
export interface ImageService extends Storing, Listings, OwnerActions, Protection, Caching, Upkeep {
  readonly limits: ImageLimits;
  /** Returns the time by the clock of the server, in ms since 1970. */
  now(): number;
  /** The folder for temporary files, created when it is first needed. */
  readonly folder: string;
  /**
   * Returns the record. Rejects with `not_found`, or with `gone` if it has expired or has no views left. A deletion
   * by another copy of the server may take up to two seconds to show.
   */
  find(id: string): Promise<ImageRecord>;
  /** Returns the record if it is cached. */
  cached(id: string): ImageRecord | undefined;
  /** Returns the stored file if it is in memory. */
  cachedFile(image: ImageRecord): Blob | undefined;
  /** Returns the file of an image in that shape. Rejects with `not_found` if it is missing. */
  read(image: ImageRecord, shape: Shape, range?: ByteRange): Promise<Blob | ReadableStream<Uint8Array>>;
  /** Returns the file to send for that shape. A version that does not exist yet is created at the payer's expense. */
  version(image: ImageRecord, shape: Shape, payer: string): Promise<Version>;
  /**
   * Takes a view of an image with limited views. Rejects with `gone`, or with `busy` while the last view is in
   * progress.
   */
  takeView(image: ImageRecord): Promise<View>;
}

/** Assembles the image host. Reads, or creates, the keys of its cookies. */
export async function createImageService(options: ImageServiceOptions): Promise<ImageService> {
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
  const files = createImageFiles({ images, blobs, thumbnails, log });

  /** Must be called when the record is gone. */
  async function onRemoved(image: ImageRecord): Promise<void> {
    records.forget(image.id);
    log('info', 'image removed', { id: image.id });
    onEvent({ type: 'removed', image });
    await files.remove(image);
  }

  const unfinished = createUnfinished({
    ...{ images, state, records, onRemoved, random, now, log },
    onChanged: (image) => onEvent({ type: 'changed', image }),
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
    onRemoved,
    unfinished,
  };
  const storing = createStoring({
    ...parts,
    quota,
    requireFiles: createFilesGuard({ images, blobs, state, readMark: () => readMark(blobs), now }),
    mayUpload: options.mayUpload,
    holdBack: options.holdBack,
    onStored: (image) => onEvent({ type: 'stored', image }),
    stamp: serviceTime.stamp,
  });
  const ownerActions = createOwnerActions({
    ...parts,
    reviews,
    onChanged: (image) => onEvent({ type: 'changed', image }),
  });
  const upkeep = createUpkeep({
    ...parts,
    onCleaned: options.onCleaned,
    onDoubt: options.onDoubt,
    onVersionBytes: bytes.recount,
  });

  return {
    limits,
    now,
    folder,
    ...protection,
    ...createListings(images, limits, now),
    ...createCaching(limits.cacheMaxAgeMs, now),
    ...ownerActions,
    ...upkeep,
    ...storing,
    find: records.find,
    cached: records.cached,
    cachedFile: files.cached,
    read: files.read,
    version: files.version,
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
