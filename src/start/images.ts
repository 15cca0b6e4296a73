import type { Stores } from '../../adapters/open.ts';
import { createRecount } from '../http/limits.ts';
import type { Dependency } from '../http/system-routes.ts';
import { imageAccessRoutes } from '../image/access-routes.ts';
import { imageAdminRoutes } from '../image/admin-routes.ts';
import { imageHome } from '../image/gallery.ts';
import { createLookIndex } from '../image/look-index.ts';
import { imagePageRoutes } from '../image/page-routes.ts';
import { imageReviewRoutes } from '../image/review-routes.ts';
import { imageRoutes } from '../image/routes.ts';
import { statsAnswer } from '../image/schemas.ts';
import { statsView } from '../image/views.ts';
import type { Rates } from '../lib/rates.ts';
import { expectedSandbox } from './codec.ts';
import { conditionFaults } from './condition.ts';
import type { Parts, RunningFeature } from './feature.ts';
import { openImageHost } from './image-host.ts';
import { fileChecks, recordChecks } from './readiness.ts';
import { openUrlUploads } from './url-uploads.ts';

/** Assembles the image host. */
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
  const { onRefused, now } = operations;
  const basePath = web.path + config.IMAGE_BASE_PATH;
  const host = await openImageHost({ runtime, config, env, stores, log, operations }, basePath);
  const { service, albums, reviews, limits, folder } = host;
  const { limiter } = stores;
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
      comparison(stores, service.doubts),
    ],
    begin: host.start,
    stop: host.stop,
  };
}

/**
 * Returns the part of readiness that only degrades: mismatches between records and files, or that they are not known
 * yet.
 */
function comparison(
  { images, condition }: Pick<Stores, 'images' | 'condition'>,
  doubts: () => Promise<readonly string[]>,
): Dependency {
  return {
    fault: 'Records and files cannot be compared.',
    check: async () => {},
    async degraded() {
      const preparing = images.preparing();
      return [
        ...(await doubts()),
        ...(preparing === null ? [] : [preparing]),
        ...conditionFaults(condition, 'image'),
      ];
    },
  };
}
