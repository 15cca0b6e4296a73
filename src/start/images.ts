import { randomBytes } from 'node:crypto';
import type { Stores } from '../../adapters/open.ts';
import { type FindingSource, warn } from '../findings/finding.ts';
import { answering, conditionFindings, fileSources, recordSources } from '../findings/readiness.ts';
import { imageAdminRoutes } from '../image/admin-routes.ts';
import { handoverRoutes } from '../image/handover.ts';
import type { Upkeep } from '../image/maintenance/upkeep.ts';
import { galleryRoute } from '../image/pages/gallery-page.ts';
import { oembedRoute } from '../image/pages/oembed.ts';
import { imageHome } from '../image/pages/upload-form.ts';
import { createLookIndex } from '../image/records/look-index.ts';
import { imageReviewRoutes } from '../image/review/routes.ts';
import { imageRoutes } from '../image/routes.ts';
import { statsAnswer } from '../image/schemas.ts';
import { createUrlFetcher, type FromUrl } from '../image/upload/from-url.ts';
import { statsView } from '../image/views.ts';
import { isGloballyRoutable } from '../lib/address.ts';
import { systemClock } from '../lib/clock.ts';
import { REFUSED_PORTS } from '../proxy/check/policy.ts';
import { ownAddresses } from './checker.ts';
import type { Parts, RunningFeature } from './feature.ts';
import { openImageHost } from './image-host.ts';
import { lazySafeFetch } from './lazy-fetch.ts';

/** Assembles the image host. */
export async function startImages(parts: Parts): Promise<RunningFeature> {
  const { config, stores, web, operations } = parts;
  const { limits: counted, now } = operations;
  const basePath = web.path + config.IMAGE_BASE_PATH;
  const host = await openImageHost(parts, basePath);
  const { service, albums, reviews, limits, folder, sandbox } = host;
  const looks = createLookIndex(stores.images, now);
  const fromUrl = openUrlUploads(parts, folder);
  return {
    name: 'Image host',
    basePath: config.IMAGE_BASE_PATH,
    sandbox,
    routes: [
      ...imageRoutes({
        service,
        albums,
        basePath,
        siteOf: web.siteOf,
        needsToken: config.UPLOAD === 'token',
        cors: config.IMAGE_CORS,
        ...(fromUrl && { fromUrl }),
        clients: config.IMAGE_CLIENTS,
        mayWrite: operations.blocks.mayWrite,
        countUpload: counted?.recount('upload'),
        countReads: counted?.recount('read'),
      }),
      ...handoverRoutes({ state: stores.state, clock: systemClock, random: randomBytes }),
      galleryRoute({ service, basePath, siteOf: web.siteOf, open: config.UPLOAD !== 'token' }),
      oembedRoute({ service, basePath, siteOf: web.siteOf }),
      ...imageAdminRoutes({ service, basePath, looks }),
      ...imageReviewRoutes(reviews, operations.audit),
    ],
    home: (site, request) =>
      imageHome(site, request, {
        ...{ service, basePath, needsToken: config.UPLOAD === 'token' },
        fromUrl: fromUrl !== null && (!fromUrl.needsToken || config.UPLOAD === 'token'),
      }),
    stats: async () => statsView(await service.summary(), limits, config.ABUSE_CONTACT),
    statsAnswer,
    health: [
      ...recordSources(stores.state, 'image'),
      ...fileSources(stores.blobs, folder, 'image'),
      ...(stores.askReads
        ? [answering('METADATA_READ_URL does not answer: the primary serves all lists.', stores.askReads)]
        : []),
      answering(
        'Uploads are refused: too little free disk, or IMAGE_MAX_STORAGE is reached.',
        host.requireRoom,
      ),
      answering(
        'Images cannot be converted, because no conversion process starts. The log says why.',
        host.requireConversions,
      ),
      comparison(stores, service),
    ],
    pictures: { service, reviews, looks, basePath, albums },
    begin: host.start,
    stop: host.stop,
  };
}

/** Asks whether records and files belong together, or that is not known yet. The service works all the same. */
function comparison({ images, condition }: Stores, host: Pick<Upkeep, 'doubts' | 'skew'>): FindingSource {
  return {
    silence: warn('Records and files cannot be compared.'),
    async look() {
      const preparing = images.preparing();
      return [
        ...(await host.doubts()),
        ...host.skew(),
        ...(preparing === null ? [] : [warn(preparing)]),
        ...conditionFindings(condition, 'image'),
      ];
    },
  };
}

/** Opens uploads by URL as `IMAGE_FROM_URL` allows. Never requests anything from this machine or its networks. */
function openUrlUploads({ config, operations }: Parts, folder: string): FromUrl | null {
  if (config.IMAGE_FROM_URL === 'off') return null;
  const own = new Set(ownAddresses());
  const permits = (address: string) => isGloballyRoutable(address) && !own.has(address);
  const permitsPort = (port: number) => !REFUSED_PORTS.has(port);
  const fetcher = createUrlFetcher({
    fetch: lazySafeFetch(config.PROXY_ALLOW_PRIVATE, { permits, permitsPort }),
    folder,
    maxBytes: config.IMAGE_MAX_UPLOAD,
  });
  return {
    ...fetcher,
    needsToken: config.IMAGE_FROM_URL === 'token',
    countBytes: operations.limits?.recount('upload_bytes'),
  };
}
