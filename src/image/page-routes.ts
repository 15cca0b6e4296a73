import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import { coerce } from '../lib/schema.ts';
import { galleryQuery, showGallery } from './gallery.ts';
import { idInUrl, oembedDetail, oembedOf, oembedQuery } from './oembed.ts';
import type { ImageRoutesOptions } from './routes.ts';
import { openImage } from './serve/direct-link.ts';
import { type ErrorHeaders, PRIVATE_CACHE } from './serve/serve.ts';

/** The pages of the image host that do not show one image, and oEmbed. */
export function imagePageRoutes({ service, contextOf, basePath, siteOf }: ImageRoutesOptions) {
  return new Elysia()
    .get(
      '/gallery',
      ({ request, query }) => showGallery({ service, basePath }, siteOf(request), request, query),
      {
        query: galleryQuery,
        transform: ({ query }) => coerce(galleryQuery, query),
        detail: { hide: true },
      },
    )
    .get(
      '/oembed',
      async ({ request, query, set }) => {
        const context = contextOf(request);
        const base = context.origin + basePath;
        const id = idInUrl(query.url, base);
        if (id === null)
          throw new AppError('not_found', 'The URL is not the link of an image on this server.');
        const image = await service.find(id);
        await openImage(service, request, () => context.peer, image, set.headers as ErrorHeaders);
        const cache = image.passwordHash === null ? 'no-cache' : PRIVATE_CACHE;
        return Response.json(oembedOf(image, base, query, `${context.origin}${siteOf(request).path}/`), {
          headers: { 'cache-control': cache },
        });
      },
      {
        query: oembedQuery,
        transform: ({ query }) => coerce(oembedQuery, query),
        detail: oembedDetail,
      },
    );
}
