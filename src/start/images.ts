import { randomBytes } from 'node:crypto';
import { availableParallelism, platform } from 'node:os';
import { join, resolve } from 'node:path';
import { filesAdapter, recordsAdapter } from '../../adapters/registry.ts';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { createRecount } from '../http/limits.ts';
import { imageAccessRoutes } from '../image/access-routes.ts';
import { imageAdminRoutes } from '../image/admin-routes.ts';
import { createAlbums } from '../image/albums/albums.ts';
import { removeOldBays } from '../image/codec/bay.ts';
import { createBudget } from '../image/codec/budget.ts';
import { createCodec } from '../image/codec/codec.ts';
import { lackingMeans, sandboxState } from '../image/codec/jail/report.ts';
import { imageHome } from '../image/gallery.ts';
import { createLookIndex } from '../image/look-index.ts';
import { readStrayCount } from '../image/maintenance/quarantine.ts';
import { pairLater, pairStores } from '../image/maintenance/store-identity.ts';
import { describeImages, observeCodec } from '../image/metrics.ts';
import { imagePageRoutes } from '../image/page-routes.ts';
import { createQuota } from '../image/quota.ts';
import { imageReviewRoutes } from '../image/review-routes.ts';
import { createReviews } from '../image/reviews.ts';
import { imageRoutes } from '../image/routes.ts';
import { statsAnswer } from '../image/schemas.ts';
import { createVersionBytes } from '../image/serve/version-bytes.ts';
import { createImageService } from '../image/service.ts';
import { eventView, statsView } from '../image/views.ts';
import { systemClock } from '../lib/clock.ts';
import type { System } from '../lib/linux/system.ts';
import type { Rates } from '../lib/rates.ts';
import { tellOnce } from '../webhooks/tell-once.ts';
import { conditionFaults } from './condition.ts';
import { temporaryFolder } from './data-folder.ts';
import type { Parts, RunningFeature } from './feature.ts';
import { fileChecks, recordChecks } from './readiness.ts';
import { openScanning } from './scanning.ts';
import { openUrlUploads } from './url-uploads.ts';

/** Puts the image host together. */
export async function startImages({
  runtime,
  config,
  env,
  system,
  stores,
  contextOf,
  log,
  web,
  operations,
}: Parts): Promise<RunningFeature> {
  const limits = {
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
  const { metrics, blocks, webhooks, now } = operations;
  const workFolder = join(resolve(config.DATA_DIR), 'work');
  await removeOldBays(workFolder);
  const plainCodec = createCodec({
    folder: workFolder,
    sandbox: config.IMAGE_SANDBOX,
    command: runtime.selfCommand(),
    env,
    workers: config.IMAGE_WORKERS ?? availableParallelism(),
    timeoutMs: config.IMAGE_CONVERT_TIMEOUT,
    maxPixels: limits.maxPixels,
    maxFrames: limits.maxFrames,
    heic: limits.heic,
    memoryLimitBytes: config.IMAGE_WORKER_MEMORY,
    ...(config.RATE_LIMITS && {
      budget: createBudget(stores.limiter, config.RATE_LIMITS.conversion),
    }),
    log,
    now,
  });
  if (config.IMAGE_SANDBOX === 'require') await plainCodec.ready().catch(refuse);
  const codec = observeCodec(plainCodec, metrics, now);
  const folder = temporaryFolder(config);
  const files = filesAdapter(config.BLOBS_URL);
  const localFiles = files.path(config.BLOBS_URL);
  const versionBytes = createVersionBytes(stores.state);
  const basePath = web.path + config.IMAGE_BASE_PATH;
  // Nobody asks when an event is told, so that without PUBLIC_URL the name of the server is not known.
  const eventBase = config.PUBLIC_URL === undefined ? basePath : config.PUBLIC_URL + config.IMAGE_BASE_PATH;
  const reviews = createReviews({
    ...stores,
    clock: systemClock,
    onStored: (image) => webhooks?.send('image.stored', eventView(image, eventBase)),
  });
  const quota = createQuota({
    images: stores.images,
    versionBytes: versionBytes.total,
    maxBytes: config.IMAGE_MAX_STORAGE,
    strayBytes: async () => (await readStrayCount(stores.state)).bytes,
    heldBytes: reviews.bytes,
    reserveBytes: config.IMAGE_MIN_FREE,
    folders: localFiles === null ? [folder] : [folder, localFiles],
    now,
  });
  const pair = {
    state: stores.state,
    blobs: stores.blobs,
    images: stores.images,
    folder,
    shared: { records: recordsAdapter(config.METADATA_URL).shared, files: files.shared },
    clock: systemClock,
    log,
  };
  const stopping = new AbortController();
  const paired = await pairStores(pair);
  const tellDoubt = async (reasons: readonly string[]) => {
    if (!webhooks) return;
    const change = { key: 'webhooks:images-doubtful', on: reasons.length > 0 };
    await tellOnce({ ...stores, ...change }, () =>
      webhooks.send(change.on ? 'images.doubtful' : 'images.trusted', { reasons }),
    ).catch((cause) => log('warn', 'event not published', { cause }));
  };
  const holdBack = openScanning({ config, codec, reviews, folder, log });
  const service = await createImageService({
    ...stores,
    codec,
    ...(config.RATE_LIMITS && { guesses: config.RATE_LIMITS.password }),
    clock: systemClock,
    random: randomBytes,
    folder,
    quota,
    mayStore: blocks.mayStore,
    ...(holdBack && { holdBack }),
    onCleaned: async (signal) => void (await albums.sweep(signal)),
    reviews,
    onDoubt: (reasons) => void tellDoubt(reasons),
    onEvent: ({ type, image }) => webhooks?.send(`image.${type}`, eventView(image, eventBase)),
    limits,
    log,
  });
  const albums = createAlbums({
    ...stores,
    service,
    rules: { listing: limits.listing, maxExpiryMs: limits.maxExpiryMs },
    retentionMs: limits.retentionMs,
    clock: systemClock,
    random: randomBytes,
    log,
  });
  describeImages(metrics, stores.images, {
    freeBytes: quota.freeBytes,
    versionBytes: versionBytes.total,
    strays: () => readStrayCount(stores.state),
    doubts: service.doubts,
  });
  const { limiter } = stores;
  const { onRefused } = operations;
  const fromUrl = openUrlUploads({ config, limiter, folder, onRefused });
  const recounted = (rates: Rates) => ({ limiter, rates, maxUploadBytes: limits.maxUploadBytes, onRefused });
  const accessToken = config.IMAGE_ACCESS_TOKEN;
  return {
    name: 'Image host',
    basePath: config.IMAGE_BASE_PATH,
    sandbox: expectedSandbox(config.IMAGE_SANDBOX, system),
    routes: imageRoutes({
      service,
      albums,
      contextOf,
      basePath,
      siteOf: web.siteOf,
      needsToken: config.UPLOAD === 'token',
      cors: config.IMAGE_CORS,
      ...(fromUrl && { fromUrl }),
      clients: config.IMAGE_CLIENTS,
      ...(config.RATE_LIMITS && {
        countUpload: createRecount(recounted(config.RATE_LIMITS), 'upload'),
        countReads: createRecount(recounted(config.RATE_LIMITS), 'read'),
      }),
    })
      .use(imagePageRoutes({ service, albums, contextOf, basePath, siteOf: web.siteOf }))
      .use(imageAdminRoutes({ service, contextOf, basePath, looks: createLookIndex(stores.images, now) }))
      .use(imageReviewRoutes(reviews))
      .use(imageAccessRoutes({ images: stores.images, token: accessToken, now: Date.now })),
    home: (site, request) =>
      imageHome(site, request, { service, basePath, needsToken: config.UPLOAD === 'token' }),
    stats: async () => statsView(await service.summary(), limits, config.ABUSE_CONTACT),
    statsAnswer,
    dependencies: [
      ...recordChecks(stores.state, 'image'),
      ...fileChecks(stores.blobs, folder, 'image'),
      {
        fault: 'Records and files cannot be compared.',
        check: async () => {},
        async degraded() {
          const preparing = stores.images.preparing();
          return [
            ...(await service.doubts()),
            ...(preparing === null ? [] : [preparing]),
            ...conditionFaults(stores.condition, 'image'),
          ];
        },
      },
    ],
    begin() {
      if (!paired) void pairLater(pair, stopping.signal);
      service.start();
    },
    async stop() {
      stopping.abort();
      await service.stop();
      await codec.close();
    },
  };
}

/** The log has said before what is missing. */
function refuse(cause: unknown): never {
  const message =
    'Conversions cannot be jailed as IMAGE_SANDBOX=require asks for; the log says what is missing.';
  throw new AppError('unavailable', message, { cause });
}

/** What the start message says; the log tells where a worker finds it otherwise. */
function expectedSandbox(asked: Config['IMAGE_SANDBOX'], system: System | null): string {
  if (asked === 'off') return 'none (IMAGE_SANDBOX=off)';
  // On Deno the server itself may not make system calls; its workers may.
  if (!system && platform() === 'linux') return 'asked for; the log tells what workers find missing';
  return sandboxState(lackingMeans(system)).text;
}
