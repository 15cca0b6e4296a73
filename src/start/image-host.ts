import { randomBytes } from 'node:crypto';
import { filesAdapter, recordsAdapter } from '../../adapters/registry.ts';
import { createTokens } from '../access/tokens.ts';
import type { Codec } from '../codec/codec.ts';
import type { Config } from '../config.ts';
import { unreadable } from '../errors.ts';
import { createAlbums } from '../image/albums/albums.ts';
import type { ImageRecord } from '../image/image.ts';
import { readStrayBytes } from '../image/maintenance/quarantine.ts';
import { pairLater, pairStores } from '../image/maintenance/store-identity.ts';
import { describeImages } from '../image/metrics.ts';
import { createReviews, type Reviews } from '../image/review/reviews.ts';
import { createScanner } from '../image/review/scan.ts';
import { createVersionBytes } from '../image/serve/thumbnails.ts';
import { createImageService } from '../image/service.ts';
import { createQuota } from '../image/upload/quota.ts';
import { eventView } from '../image/views.ts';
import { cachedFor } from '../lib/answer-cache.ts';
import { systemClock } from '../lib/clock.ts';
import { openHashBlocks } from '../moderation/hash-list.ts';
import { signedHeaders } from '../webhooks/signature.ts';
import { tellOnce } from '../webhooks/watch.ts';
import { describeConversions, openCodec, requireConversions, requireSandbox } from './codec.ts';
import { localFolders, temporaryFolder } from './data-folder.ts';
import type { Parts } from './feature.ts';
import { lazySafeFetch } from './lazy-fetch.ts';
import type { Operations } from './operations.ts';

/** Assembles what stores images; `basePath`: the path under which browsers reach them. */
export async function openImageHost(parts: Parts, basePath: string) {
  const { config, stores, log, operations } = parts;
  const { metrics, blocks, webhooks, audit, now } = operations;
  const stopping = new AbortController();
  const limits = limitsOf(config);
  const codec = await openCodec(parts);
  const folder = temporaryFolder(config);
  const files = filesAdapter(config.BLOBS_URL);
  const versionBytes = createVersionBytes(stores.state);
  // Events have no request, so without PUBLIC_URL the server's name is unknown.
  const eventBase = config.PUBLIC_URL === undefined ? basePath : config.PUBLIC_URL + config.IMAGE_BASE_PATH;
  const reviews = createReviews({
    ...stores,
    clock: systemClock,
    mayStore: blocks.mayStore,
    onStored: (image) => webhooks?.send('image.stored', eventView(image, eventBase)),
    discard: (image, mayCome) => service.discard(image, mayCome),
  });
  const imageBytes = () => stores.images.summary().then(({ bytes }) => bytes);
  const quota = createQuota({
    counts: [imageBytes, versionBytes.total, () => readStrayBytes(stores.state), reviews.bytes],
    maxBytes: config.IMAGE_MAX_STORAGE,
    reserveBytes: config.IMAGE_MIN_FREE,
    folders: [folder, ...localFolders(config)],
    now,
  });
  const pair = {
    ...{ state: stores.state, blobs: stores.blobs, images: stores.images, folder },
    shared: { records: recordsAdapter(config.METADATA_URL).shared, files: files.shared },
    clock: systemClock,
    log,
  };
  const paired = await pairStores(pair);
  const blocked = await openBlocked(config, log);
  const holdBack = openScanning(parts, { codec, reviews, folder });
  const service = await createImageService({
    ...stores,
    codec,
    ...(config.RATE_LIMITS && { guesses: config.RATE_LIMITS.password }),
    clock: systemClock,
    random: randomBytes,
    folder,
    quota,
    mayStore: blocks.mayStore,
    ...(blocked && { mayUpload: blocked.mayUpload }),
    ...(holdBack && { holdBack }),
    onCleaned: async (signal, idleBefore) => void (await albums.sweep(signal, idleBefore)),
    reviews,
    onDoubt: (reasons) => void tellDoubt({ stores, log, webhooks }, reasons),
    onEvent: ({ type, image }) => webhooks?.send(`image.${type}`, eventView(image, eventBase)),
    limits,
    audit,
    log,
  }).catch(async (error) => {
    await blocked?.stop();
    throw error;
  });
  const albums = createAlbums({
    albums: stores.albums,
    images: inAlbums(stores.images, reviews),
    audit,
    service,
    rules: limits,
    mayInvite: mayInviteBy(config, stores.state, now),
    retentionMs: limits.retentionMs,
    clock: systemClock,
    random: randomBytes,
    log,
  });
  describeImages(metrics, stores.images, { freeBytes: quota.freeBytes, doubts: service.doubts });
  // Last, because this starts a process, which a retry for stores that do not answer would start again.
  await requireSandbox(config, codec);

  return {
    service,
    albums,
    reviews,
    limits,
    folder,
    sandbox: () => describeConversions(config, codec),
    requireRoom: () => quota.admit(1),
    requireConversions: () => requireConversions(codec),
    start() {
      if (!paired) void pairLater(pair, stopping.signal);
      service.start();
    },
    async stop() {
      stopping.abort();
      await blocked?.stop();
      await service.stop();
      await codec.close();
    },
  };
}

async function openBlocked({ BLOCK_HASHES: path }: Config, log: Parts['log']) {
  return path === undefined ? null : openHashBlocks(path, log).catch(unreadable('BLOCK_HASHES', path));
}

/** Returns the images for albums: a picture in review is in its album once it is allowed. */
function inAlbums(images: Parts['stores']['images'], reviews: Pick<Reviews, 'list'>) {
  return {
    getMany: (ids: readonly string[]) => images.getMany(ids),
    async existing(ids: readonly string[]) {
      const held = (await reviews.list()).map(({ id }) => id);
      return (await images.existing(ids)).union(new Set(held)).intersection(new Set(ids));
    },
  };
}

/** How long what is known about tokens is used, in ms, as for the tokens themselves. */
const BELIEVED_MS = 500;

/** Whether the token of the maker of an invitation still allows uploads. Those of the settings have names for IDs. */
function mayInviteBy(
  { UPLOAD, ADMIN_TOKEN, MCP_WRITE_TOKEN }: Config,
  state: Parts['stores']['state'],
  now: () => number,
) {
  const { list } = createTokens({ state, random: randomBytes, now: Date.now });
  const listed = cachedFor(BELIEVED_MS, now, list);
  const settings: Record<string, string | undefined> = { admin: ADMIN_TOKEN, settings: MCP_WRITE_TOKEN };
  return async (by: string): Promise<boolean> => {
    if (UPLOAD !== 'token' || settings[by] !== undefined) return true;
    return (await listed()).some(({ id, role }) => id === by && (role === 'upload' || role === 'admin'));
  };
}

function limitsOf(config: Config) {
  return {
    maxUploadBytes: config.IMAGE_MAX_UPLOAD,
    maxPixels: config.IMAGE_MAX_PIXELS,
    maxFrames: config.IMAGE_MAX_FRAMES,
    heic: config.IMAGE_HEIC,
    retentionMs: config.IMAGE_RETENTION,
    listing: config.IMAGE_LISTING,
    maxExpiryMs: config.IMAGE_MAX_EXPIRY,
    cacheMaxAgeMs: config.IMAGE_CACHE_MAX_AGE,
    cleanupIntervalMs: config.IMAGE_CLEANUP_INTERVAL,
    deleteByAddressMs: config.IMAGE_DELETE_BY_ADDRESS,
    strayRetentionMs: config.IMAGE_STRAY_RETENTION,
  };
}

/** Reports doubts whether records and files belong together, and when they are resolved. */
async function tellDoubt(
  { stores, log, webhooks }: Pick<Parts, 'stores' | 'log'> & Pick<Operations, 'webhooks'>,
  reasons: readonly string[],
): Promise<void> {
  if (!webhooks) return;
  const change = { key: 'webhooks:images-doubtful', on: reasons.length > 0 };
  await tellOnce({ ...stores, ...change }, () =>
    webhooks.send(change.on ? 'images.doubtful' : 'images.trusted', { reasons }),
  ).catch((cause) => log('warn', 'event not published', { cause }));
}

/** Returns the scanner for pictures before they are stored; `null` if `IMAGE_SCAN_URL` is not set. */
function openScanning(
  { config, log }: Parts,
  { codec, reviews, folder }: { codec: Codec; reviews: Reviews; folder: string },
) {
  const { IMAGE_SCAN_URL: url, IMAGE_SCAN_SECRET: secret } = config;
  if (url === undefined || secret === undefined) return null;
  const scan = createScanner({
    url,
    send: config.IMAGE_SCAN_SEND,
    timeoutMs: config.IMAGE_SCAN_TIMEOUT,
    onFailure: config.IMAGE_SCAN_FAILURE,
    // The operator configures it, usually with a private address. No redirect can lead away, because a POST follows
    // none.
    fetch: lazySafeFetch(true),
    sign: (message) => signedHeaders(secret, message),
    codec,
    folder,
    clock: systemClock,
    log,
  });
  return async (image: ImageRecord, path: string, payer: string): Promise<boolean> => {
    if ((await scan(image, path, payer)) === 'allow') return false;
    await reviews.hold(image, path);
    return true;
  };
}
