import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { MOST_EXPIRY_MS } from '../lib/expiry.ts';
import { openKeyRing } from '../lib/key-ring.ts';
import type { Locks } from '../lib/locks.ts';
import type { Log } from '../lib/logger.ts';
import type { Bucket, RateLimiter } from '../lib/rate-limiter.ts';
import type { Repetition } from '../lib/schedule.ts';
import { createShares } from '../lib/shares.ts';
import type { StateStore } from '../lib/state.ts';
import { type CookieSigner, createCookieSigner } from './access/cookie.ts';
import { createDeletionRights, type Deleter, hashOf, type Uploader } from './access/deletion-rights.ts';
import { createGuessLimits } from './access/guess-limits.ts';
import { createPasswordHasher, type PasswordHasher } from './access/password.ts';
import { createPasswordGuard, type PasswordGuard } from './access/password-guard.ts';
import { audienceOf, isOver } from './audience.ts';
import type { Shape } from './blob-keys.ts';
import { type ChangeWish, changeOf } from './change.ts';
import type { Codec } from './codec/codec.ts';
import { createDeleteToken, createId, ID_PATTERN, type RandomBytes } from './ids.ts';
import { EXTENSIONS, type ImageRecord, type UploadOptions } from './image.ts';
import { createImageFiles } from './image-files.ts';
import { createLimitedViews, gone, type View } from './limited-views.ts';
import type { ImageLimits } from './limits.ts';
import { createListing, createNeighbours, type ListQuery } from './listing.ts';
import { createAccessLog } from './maintenance/accesses.ts';
import { createAskedCleanup } from './maintenance/asked-cleanup.ts';
import { type CleanupReport, createCleanup } from './maintenance/cleanup.ts';
import { createDoubts } from './maintenance/doubts.ts';
import { createEnds } from './maintenance/ends.ts';
import { startMaintenance } from './maintenance/maintenance.ts';
import type { Quota } from './quota.ts';
import { createRecordCache } from './records.ts';
import type { Reviews } from './reviews.ts';
import { createCaching } from './serve/caching.ts';
import { createThumbnails, type Version } from './serve/thumbnails.ts';
import { createVersionBytes } from './serve/version-bytes.ts';
import type { AccessPlace, BlobStore, ByteRange, ImageStore, ImageSummary, Page } from './store.ts';
import type { Uploaded } from './upload/uploaded.ts';

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
  /**
   * Called with each picture, in the file at `path`, before it is stored. Returns true if it was taken over for
   * review. Rejects if it is refused.
   */
  holdBack?: (image: ImageRecord, path: string, payer: string) => Promise<boolean>;
  /** The pictures in review. */
  reviews?: Pick<Reviews, 'find' | 'withdraw'>;
  /** Called when images are stored, changed or removed. */
  onEvent?: (event: ImageEvent) => void;
  /** Called after each cleanup of this copy that was complete. */
  onCleaned?: (signal: AbortSignal) => Promise<void>;
  /** Called with the reasons why no file is removed, or with none when files are removed again. */
  onDoubt?: (reasons: readonly string[]) => void;
  log: Log;
}

/** An image was stored, changed, or removed by its uploader, the administrator or the cleanup. */
export interface ImageEvent {
  type: 'stored' | 'changed' | 'removed';
  image: ImageRecord;
}

/** Selects a page of all images. */
export interface RecentQuery {
  /** Counted from 1. Ignored if `after` is set. */
  page: number;
  perPage: number;
  /** Start after this position. */
  after?: AccessPlace;
}

/** The image host without HTTP. */
export interface ImageService extends PasswordGuard {
  readonly limits: ImageLimits;
  /** The folder for temporary files, created when it is first needed. */
  readonly folder: string;
  /** The signer of the cookies that `open` accepts. */
  readonly cookies: Pick<CookieSigner, 'issue' | 'clear' | 'opener'>;
  /** Call before reading a body of at most this many bytes. Rejects with `storage_full`, `busy` or `unavailable`. */
  admit(bytes: number, payer: string): Promise<void>;
  /**
   * Converts and stores the file at `path`, which stays. Rejects with `forbidden` for a blocked file, with `busy` or
   * `storage_full`, and like the codec.
   */
  upload(
    file: { path: string; filename: string | null; hash?: string },
    options: UploadOptions,
    from: Uploader,
    signal?: AbortSignal,
  ): Promise<Uploaded>;
  /**
   * Returns the record. Rejects with `not_found`, or with `gone` if it has expired or has no views left. A deletion
   * by another copy of the server may take up to two seconds to show.
   */
  find(id: string): Promise<ImageRecord>;
  /** Returns the record if it is cached. */
  cached(id: string): ImageRecord | undefined;
  /** Returns the stored file if it is in memory. */
  cachedFile(image: ImageRecord): Blob | undefined;
  /** For how many seconds caches may keep the file of an image that needs no password. */
  cacheSeconds(image: ImageRecord): number;
  /** Until when caches may still have the current file of an image; `null` if they may not keep it at all. */
  cachedUntil(image: ImageRecord): number | null;
  /** Lists public images, newest first; with `text`, those whose name, ID or format contains it. */
  list(query: ListQuery): Promise<Page<ImageRecord>>;
  /** Returns the images before and after a public one in that list. */
  beside(image: ImageRecord): Promise<{ newer: ImageRecord | null; older: ImageRecord | null }>;
  summary(): Promise<ImageSummary>;
  /** Lists all images, the last accessed or stored first. */
  recent(query: RecentQuery): Promise<{ items: ImageRecord[]; next: AccessPlace | null }>;
  /** Returns the file of an image in that shape. Rejects with `not_found` if it is missing. */
  read(image: ImageRecord, shape: Shape, range?: ByteRange): Promise<Blob | ReadableStream<Uint8Array>>;
  /** Returns the file to send for that shape. A version that does not exist yet is created at the payer's expense. */
  version(image: ImageRecord, shape: Shape, payer: string): Promise<Version>;
  /**
   * Takes a view of an image with limited views. Rejects with `gone`, or with `busy` while the last view is in
   * progress.
   */
  takeView(image: ImageRecord): Promise<View>;
  /** Records that a person or program has viewed the image. */
  accessed(image: ImageRecord): void;
  /** Reports whether `remove` would be allowed. */
  mayRemove(image: ImageRecord, by: Deleter): boolean;
  /**
   * Changes an image for the holder of its delete token, or the administrator. Rejects with `not_found`, `gone`,
   * `forbidden`, also for a blocked file, and `invalid_parameter`.
   */
  change(id: string, wish: ChangeWish, by: Deleter): Promise<ImageRecord>;
  /** Rejects with `not_found` or `forbidden`. */
  remove(id: string, by: Deleter): Promise<void>;
  /** Returns the record of a picture that still waits for the administrator, or `null`. */
  inReview(id: string): Promise<ImageRecord | null>;
  /**
   * Removes images that have not been viewed for a long time, for at most `budgetMs`. Rejects with `conflict`.
   * Without `admin`, it reports within ten minutes of a complete cleanup that nothing was removed.
   */
  cleanup(budgetMs: number, admin: boolean): Promise<CleanupReport>;
  /** Removes images that have expired or have no views left. The server calls it every 15 seconds. */
  removeEnded(signal?: AbortSignal): Promise<void>;
  /** Returns why no file is removed at the moment, as sentences; none if all is well. At most ten seconds old. */
  doubts(): Promise<readonly string[]>;
  /** Starts to write accesses and to clean up in the background. */
  start(): void;
  /** Stops that, and writes the last accesses. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Passwords of one client that are being hashed or wait. `createPasswordHasher` allows more for all clients together.
 */
const HASHES = { each: 8, fullMessage: 'Eight passwords of yours are being checked; wait for one.' };

/** Assembles the image host. Reads, or creates, the keys of its cookies. */
export async function createImageService(options: ImageServiceOptions): Promise<ImageService> {
  const { images, blobs, state, locks, limiter, codec, clock, random, folder, limits, log } = options;
  const now = () => clock.now();
  const keys = await openKeyRing({ state, name: 'cookie-secret', random, now });
  const cookies = createCookieSigner(keys, now);
  const hasher = options.hasher ?? createPasswordHasher(random);
  const guesses = createGuessLimits({ limiter, sleep: clock.sleep, perNetwork: options.guesses });
  const hashes = createShares(HASHES);
  const lock = createPasswordGuard({ hasher, hashes, cookies, guesses, random, now });
  const rights = createDeletionRights(limits.deleteByAddressMs ?? Number.POSITIVE_INFINITY, now);
  const records = createRecordCache(images, now);
  const versionBytes = createVersionBytes(state);
  const thumbnails = createThumbnails({
    blobs,
    images,
    codec,
    folder,
    quota: options.quota,
    bytes: versionBytes,
  });
  let changed = false;
  const files = createImageFiles({
    images,
    blobs,
    thumbnails,
    log,
    onChange() {
      changed = true;
    },
  });
  const views = createLimitedViews({
    images,
    limiter,
    random,
    now,
    sleep: clock.sleep,
    onRemoved,
    log,
  });
  const caching = createCaching(limits.cacheMaxAgeMs, now);
  const rules = { listing: limits.listing ?? 'public', maxExpiryMs: limits.maxExpiryMs ?? MOST_EXPIRY_MS };
  const accesses = createAccessLog({
    images,
    now,
    log,
    onWritten: (ids) => {
      for (const id of ids) records.forget(id);
    },
  });
  const doubts = createDoubts({
    state,
    blobs,
    images,
    now,
    log,
    ...(options.onDoubt && { onChange: options.onDoubt }),
  });
  const cleanup = createCleanup({
    images,
    locks,
    doubts,
    retentionMs: limits.retentionMs,
    now,
    onRemoved,
  });
  const stopping = new AbortController();
  let maintenance: Repetition | null = null;
  let followingKeys: Repetition | null = null;

  async function freshId(): Promise<string> {
    for (;;) {
      const id = createId(random);
      if ((await images.existing([id])).size === 0) return id;
    }
  }

  /** Must be called when the record is gone. */
  async function onRemoved(image: ImageRecord): Promise<void> {
    records.forget(image.id);
    log('info', 'image removed', { id: image.id });
    options.onEvent?.({ type: 'removed', image });
    await files.remove(image);
  }

  const removeEnded = createEnds({ images, now, onRemoved, log });

  const service: ImageService = {
    limits,
    folder,
    cookies,
    open: lock.open,

    async admit(bytes, payer) {
      codec.admit?.(payer);
      await options.quota?.admit(bytes);
    },

    async upload({ path, filename, hash: source }, wanted, from, signal) {
      const { password } = wanted;
      const audience = audienceOf(wanted, rules, now());
      if (source !== undefined) await options.mayStore?.(source);
      const { peer, payer } = from;
      const id = await freshId();
      const output = join(folder, `${id}.out`);
      try {
        const { format, width, height, frames, size, hash, look, exif, removed, warnings } =
          await codec.convert(
            {
              input: path,
              output,
              format: wanted.format,
              stripExif: wanted.stripExif,
              maxWidth: wanted.maxWidth,
              maxHeight: wanted.maxHeight,
              look: true,
            },
            { client: payer, ...(signal && { signal }) },
          );
        const deleteToken = createDeleteToken(random);
        const image: ImageRecord = {
          id,
          filename: filename ?? `${id}.${EXTENSIONS[format]}`,
          format,
          width,
          height,
          frames,
          size,
          hash,
          uploader: rights.ownerOf(from),
          passwordHash: password === null ? null : await hasher.hash(password),
          deleteTokenHash: hashOf(deleteToken),
          createdAt: now(),
          lastAccess: now(),
          ...(look ?? { thumbhash: null, phash: null }),
          exif: exif && JSON.stringify(exif),
          ...audience,
        };
        await options.mayStore?.(hash, look?.phash);
        const release = await options.quota?.reserve(size);
        try {
          if (await options.holdBack?.(image, output, payer))
            return { image, deleteToken, removed, warnings, inReview: true };
          await files.store(image, output);
        } finally {
          release?.();
        }
        log('info', 'image stored', () => ({ id, format, size, hash, source, peer }));
        options.onEvent?.({ type: 'stored', image });
        return { image, deleteToken, removed, warnings };
      } finally {
        await rm(output, { force: true });
      }
    },

    async find(id) {
      const image = ID_PATTERN.test(id) ? await records.get(id) : null;
      if (image ? isOver(image, now()) : ID_PATTERN.test(id) && (await images.hasEnded(id))) throw gone();
      if (image === null) throw notFound();
      return image;
    },

    cached: records.cached,
    cacheSeconds: caching.seconds,
    cachedUntil: caching.until,
    cachedFile: files.cached,

    list: createListing(images, rules, now),

    beside: createNeighbours(images, rules, now),

    summary: () => images.summary(),

    async recent({ page, perPage, after }) {
      const offset = after === undefined ? (page - 1) * perPage : 0;
      const found = await images.recent({ offset, limit: perPage + 1, ...(after && { after }) });
      const items = found.slice(0, perPage);
      return { items, next: found.length > perPage ? (items.at(-1) ?? null) : null };
    },

    read: files.read,
    version: files.version,
    takeView: views.take,

    accessed: accesses.note,
    mayRemove: rights.mayRemove,

    async change(id, wish, by) {
      const image = await service.find(id);
      if (!rights.mayRemove(image, { ...by, peer: null })) {
        throw new AppError('forbidden', 'Changing an image needs its delete token.');
      }
      await options.mayStore?.(image.hash);
      const changed = await images.change(id, await changeOf(image, wish, { rules, hasher, now: now() }));
      records.forget(id);
      if (changed === null) throw notFound();
      log('info', 'image changed', { id });
      options.onEvent?.({ type: 'changed', image: changed });
      return changed;
    },

    async remove(id, by) {
      const stored = ID_PATTERN.test(id) ? await images.get(id) : null;
      const image = stored ?? (await service.inReview(id));
      if (image === null) throw notFound();
      if (!rights.mayRemove(image, by)) {
        throw new AppError('forbidden', 'Only the uploader may delete an image.');
      }
      if (stored) {
        if (!(await images.remove(id))) throw notFound();
        return onRemoved(stored);
      }
      if (!(await options.reviews?.withdraw(id))) throw notFound();
      log('info', 'image in review removed', { id });
    },

    inReview: async (id) => (ID_PATTERN.test(id) && (await options.reviews?.find(id))) || null,

    removeEnded: (signal = stopping.signal) => removeEnded(signal),

    cleanup: createAskedCleanup({ cleanup, accesses, state, now }),

    doubts: doubts.recent,

    start() {
      followingKeys ??= keys.follow((cause) => log('warn', 'keys cannot be read', { cause }));
      images.prepare(stopping.signal).catch((cause) => log('warn', 'search not prepared', { cause }));
      maintenance ??= startMaintenance({
        images,
        blobs,
        state,
        locks,
        clock,
        limits,
        folder,
        log,
        mayStore: options.mayStore,
        onCleaned: options.onCleaned,
        accesses,
        cleanup,
        doubts,
        onVersionBytes: versionBytes.recount,
        retryRemovals: files.retry,
        removeEnded: service.removeEnded,
        takeChanged() {
          const was = changed;
          changed = false;
          return was;
        },
      });
    },

    async stop() {
      stopping.abort();
      await Promise.all([maintenance?.stop(), followingKeys?.stop()]);
      maintenance = null;
      followingKeys = null;
      await accesses.flush();
    },
  };
  return service;
}

function notFound(): AppError {
  return new AppError('not_found', 'There is no such image.');
}
