import { AppError, inEnglish } from '../../errors.ts';
import { type Call, type Route, route } from '../../http/route.ts';
import type { SiteOf } from '../../web/site.ts';
import { galleryQuery, showGallery } from '../records/gallery.ts';
import { openImage } from '../serve/direct-link.ts';
import { PRIVATE_CACHE } from '../serve/serve.ts';
import type { ImageService } from '../service.ts';
import { fittingWidth, idInUrl, oembedDescription, oembedOf, oembedQuery } from './oembed.ts';

interface ImagePageRoutesOptions {
  service: ImageService;
  siteOf: SiteOf;
  /** Path under which browsers reach the image host. */
  basePath: string;
}

/** The pages of the image host that do not show one image, and oEmbed. */
export function imagePageRoutes(options: ImagePageRoutesOptions): Route[] {
  return [
    route(
      'GET /gallery',
      ({ request, query }) => showGallery(options, options.siteOf(request), request, query),
      { query: galleryQuery },
    ),
    route('GET /oembed', (call) => embed(options, call), { query: oembedQuery, about: oembedDescription }),
  ];
}

/** Describes an image for pages that embed it. */
async function embed(
  { service, siteOf, basePath }: ImagePageRoutesOptions,
  call: Call<{ query: typeof oembedQuery }>,
): Promise<Response> {
  const { request, query, context } = call;
  const base = context.origin + basePath;
  const id = idInUrl(query.url, base);
  if (id === null)
    throw new AppError('not_found', inEnglish('The URL is not the link of an image on this server.'));
  const image = await service.find(id);
  await openImage(service, call, image);
  const cache = image.passwordHash === null ? 'no-cache' : PRIVATE_CACHE;
  const wanted = image.maxViews === null ? fittingWidth(image, query) : null;
  // The stored file is sent instead of a version that is not smaller.
  const { width } = await service.version(image, { width: wanted, format: image.format }, context.payer);
  return Response.json(oembedOf(image, base, width, `${context.origin}${siteOf(request).path}/`), {
    headers: { 'cache-control': cache },
  });
}
