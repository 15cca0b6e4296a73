import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { policy } from '../http/policy.ts';
import { readJson } from '../http/read-json.ts';
import type { ContextOf } from '../http/request-context.ts';
import { coerce, oneOf } from '../lib/schema.ts';
import type { SiteOf } from '../web/site.ts';
import { deleterOf, tokenOf } from './access/deleter.ts';
import type { AlbumRecord } from './albums/album.ts';
import type { Albums } from './albums/albums.ts';
import { albumDetails } from './albums/descriptions.ts';
import { type CountReads, createDownloads } from './albums/download.ts';
import { createAlbumPages, createLookCounter } from './albums/pages.ts';
import { albumFactsView, albumPageView, newAlbumView } from './albums/views.ts';
import { type AlbumWish, parseAddition, parseAlbum, parseAlbumChange } from './albums/wishes.ts';
import { ID_PATTERN } from './ids.ts';
import { listQuery, MAX_PER_PAGE } from './schemas.ts';
import type { ImageService } from './service.ts';
import { readFields } from './upload/form.ts';
import { albumTokenOf } from './upload/joining.ts';

const pageQuery = Type.Object({
  page: listQuery.properties.page,
  cursor: Type.Optional(
    Type.String({
      pattern: ID_PATTERN.source,
      description: 'The `next` of the last response, to get the page after it; `page` is ignored.',
    }),
  ),
  per_page: Type.Optional(
    Type.Integer({
      minimum: 1,
      default: MAX_PER_PAGE,
      description: `Images per page. Values above ${MAX_PER_PAGE} count as ${MAX_PER_PAGE}.`,
    }),
  ),
});

const shownQuery = Type.Object({ page: listQuery.properties.page });

/** `<id>` is the page, `<id>.zip` the file. */
const FILE = /^([0-9A-Za-z]{12})(\.zip)?$/;

const removeQuery = Type.Object({
  images: Type.Optional(
    oneOf(['keep', 'delete'], {
      default: 'keep',
      description: '`delete`: also delete those of its images that the caller may delete.',
    }),
  ),
});

interface AlbumRoutesOptions {
  albums: Albums;
  service: Pick<ImageService, 'find' | 'read' | 'accessed' | 'cookies'>;
  contextOf: ContextOf;
  siteOf: SiteOf;
  /** Path under which browsers reach the routes, for links. */
  basePath: string;
  /** Counts what albums cost beyond the request. Default: unlimited. */
  countReads?: CountReads | undefined;
}

/** Albums over HTTP. */
export function albumRoutes(options: AlbumRoutesOptions) {
  const { albums, service, contextOf, siteOf, basePath, countReads } = options;
  const download = createDownloads({ service, countReads });
  const countLook = createLookCounter(countReads);
  const pages = createAlbumPages({ albums, service, download, countLook, siteOf, basePath });
  const baseOf = (request: Request) => contextOf(request).origin + basePath;
  const keeperOf = (request: Request) => ({
    token: albumTokenOf(request),
    admin: contextOf(request).admin,
  });

  async function factsAnswer(request: Request, album: AlbumRecord): Promise<Response> {
    const { length } = await albums.pictures(album);
    const headers = { 'cache-control': 'no-store' };
    return Response.json(albumFactsView(baseOf(request), album, length), { headers });
  }

  return new Elysia()
    .post(
      '/api/albums',
      async ({ request }) => {
        const base = baseOf(request);
        const view = newAlbumView(base, await albums.create(await readWish(request)));
        const headers = { location: view.url, 'cache-control': 'no-store' };
        return Response.json(view, { status: 201, headers });
      },
      { parse: 'none', detail: albumDetails.create, ...policy({ limit: 'upload' }) },
    )
    .get(
      '/api/albums/:id',
      async ({ request, params, query: { page = 1, cursor = null, per_page = MAX_PER_PAGE } }) => {
        const album = await albums.find(params.id);
        await countLook(contextOf(request).peer, album);
        const view = albumPageView(baseOf(request), album, await albums.pictures(album), {
          page,
          after: cursor,
          perPage: Math.min(per_page, MAX_PER_PAGE),
          isLocked: ({ passwordHash }) => passwordHash !== null,
        });
        return Response.json(view, { headers: { 'cache-control': 'no-store' } });
      },
      {
        query: pageQuery,
        transform: ({ query }) => coerce(pageQuery, query),
        detail: albumDetails.show,
      },
    )
    .patch(
      '/api/albums/:id',
      async ({ request, params }) => {
        const by = keeperOf(request);
        const wish = parseAlbumChange(await readJson(request));
        return factsAnswer(request, await albums.change(params.id, wish, by));
      },
      { parse: 'none', detail: albumDetails.change, ...policy({ limit: 'upload' }) },
    )
    .delete(
      '/api/albums/:id',
      async ({ request, params: { id }, query }) => {
        const deleter = query.images === 'delete' ? deleterOf(request, contextOf(request)) : null;
        const { removed, kept } = await albums.remove(id, keeperOf(request), deleter);
        return Response.json({ success: true, id, removed_images: removed, kept_images: kept });
      },
      {
        parse: 'none',
        query: removeQuery,
        transform: ({ query }) => coerce(removeQuery, query),
        detail: albumDetails.remove,
      },
    )
    .post(
      '/api/albums/:id/images',
      async ({ request, params }) => {
        const by = keeperOf(request);
        const { images } = parseAddition(await readJson(request));
        return factsAnswer(request, await albums.add(params.id, images, by));
      },
      { parse: 'none', detail: albumDetails.add, ...policy({ limit: 'upload' }) },
    )
    .delete(
      '/api/albums/:id/images/:image',
      async ({ request, params }) => {
        const by = { ...keeperOf(request), deleteToken: tokenOf(request) };
        return factsAnswer(request, await albums.takeOut(params.id, params.image, by));
      },
      { parse: 'none', detail: albumDetails.takeOut },
    )
    .get(
      '/a/:file',
      async ({ request, params, query: { page = 1 } }) => {
        const [, id = '', isZip] = FILE.exec(params.file) ?? [];
        const context = contextOf(request);
        return isZip ? pages.zip(request, context, id) : pages.show(request, context, id, page);
      },
      {
        query: shownQuery,
        transform: ({ query }) => coerce(shownQuery, query),
        detail: albumDetails.page,
      },
    );
}

/** Reads the options of a new album: JSON, a form of either type, or no body at all. */
async function readWish(request: Request): Promise<AlbumWish> {
  const type = request.headers.get('content-type');
  if (type === null && !request.body) return {};
  if (type?.startsWith('application/json')) return parseAlbum(await readJson(request));
  const { title, visibility } = await readFields(request);
  return parseAlbum({
    ...(title && { title }),
    ...(visibility && { visibility: visibility.toLowerCase() }),
  });
}
