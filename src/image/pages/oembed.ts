import { type Static, Type } from '@sinclair/typebox';
import { AppError, inEnglish } from '../../errors.ts';
import type { Description } from '../../http/describe.ts';
import { type Call, type Route, route } from '../../http/route.ts';
import { oneOf, text } from '../../lib/schema.ts';
import { type ImageRecord, nameOf } from '../image.ts';
import { heightAt, THUMBNAIL_WIDTHS } from '../records/blob-keys.ts';
import { rawUrl } from '../records/links.ts';
import { openImage, parseFileName } from '../serve/direct-link.ts';
import { PRIVATE_CACHE } from '../serve/serve.ts';
import type { PagesOptions } from './page-parts.ts';

const side = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: 1e9, description }));

const oembedQuery = Type.Object({
  url: text('Page link or direct link of an image on this server.', { maxLength: 2000 }),
  maxwidth: side('Maximum width of the picture, in pixels.'),
  maxheight: side('Maximum height of the picture, in pixels.'),
  format: Type.Optional(oneOf(['json'], 'Only JSON is available.')),
});
type OembedQuery = Static<typeof oembedQuery>;

const common = {
  version: Type.Literal('1.0'),
  title: text('The title or, without one, the file name.'),
  provider_name: Type.String(),
  provider_url: Type.String(),
};
const photo = Type.Object({
  ...common,
  type: Type.Literal('photo'),
  url: text('URL of the image in the requested size.'),
  width: Type.Integer(),
  height: Type.Integer(),
});
/** Used for a picture with limited views, which an embedding page would use up. */
const link = Type.Object({ ...common, type: Type.Literal('link') });

const oembedDescription: Description = {
  id: 'getOembed',
  summary: 'Get oEmbed data for a link',
  answers: {
    200: {
      description: 'oEmbed 1.0 data of type `photo`, or `link` without the image if it has `max_views`.',
      schema: Type.Union([photo, link]),
      example: {
        version: '1.0',
        type: 'photo',
        title: 'harbour.jpg',
        url: 'https://img.example/i/Zk3vQ8mT1xYb.webp?w=640',
        width: 640,
        height: 480,
        provider_name: 'picpool',
        provider_url: 'https://img.example/',
      },
    },
  },
  errors: [400, 401, 404, 410],
};

/** oEmbed 1.0 for the links of images. */
export function oembedRoute(options: PagesOptions): Route {
  return route('GET /oembed', (call) => embed(options, call), {
    query: oembedQuery,
    about: oembedDescription,
  });
}

/** Describes an image for pages that embed it. */
async function embed(
  { service, siteOf, basePath }: PagesOptions,
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

/** Returns the ID in a page or direct link of this server, or `null`. `base`: scheme, host and base path. */
function idInUrl(url: string, base: string): string | null {
  if (!url.startsWith(`${base}/i/`)) return null;
  const [file = ''] = url.slice(base.length + 3).split(/[?#]/);
  return parseFileName(file)?.id ?? null;
}

/** Returns the width of the largest version that fits, or of the smallest if none does; `null`: the image itself. */
function fittingWidth(image: ImageRecord, { maxwidth, maxheight }: OembedQuery): number | null {
  const widths = [image.width, ...THUMBNAIL_WIDTHS.filter((one) => one < image.width).reverse()];
  const fits = (one: number) => one <= (maxwidth ?? one) && heightAt(image, one) <= (maxheight ?? Infinity);
  const chosen = widths.find(fits) ?? widths.at(-1) ?? image.width;
  return chosen === image.width ? null : chosen;
}

/** Returns the answer for an image that is sent in this width, `null` for its own. `home`: the home page. */
function oembedOf(
  image: ImageRecord,
  base: string,
  sent: number | null,
  home: string,
): Static<typeof photo> | Static<typeof link> {
  const provider = { provider_name: 'picpool', provider_url: home };
  if (image.maxViews !== null) return { version: '1.0', type: 'link', title: 'A picture', ...provider };
  const width = sent ?? image.width;
  return {
    version: '1.0',
    type: 'photo',
    title: nameOf(image),
    url: rawUrl(base, image) + (sent === null ? '' : `?w=${sent}`),
    width,
    height: heightAt(image, width),
    ...provider,
  };
}
