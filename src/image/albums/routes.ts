import { type Static, Type } from '@sinclair/typebox';
import { type Call, type Caller, json, type Route, route } from '../../http/route.ts';
import { unkept } from '../../http/unkept.ts';
import { oneOf } from '../../lib/schema.ts';
import type { SiteOf } from '../../web/site.ts';
import { deleterOf, tokenOf } from '../access/deletion-rights.ts';
import type { Pages } from '../pages/pages.ts';
import { ID_PATTERN } from '../records/ids.ts';
import { listQuery, MAX_PER_PAGE, pagingOf } from '../schemas.ts';
import type { ImageService } from '../service.ts';
import type { Intake } from '../upload/intake.ts';
import { keeperOf } from '../upload/joining.ts';
import type { AlbumRecord } from './album.ts';
import type { Albums } from './albums.ts';
import { albumDetails } from './descriptions.ts';
import { type CountReads, createDownloads } from './download.ts';
import { guestRoutes } from './guest-routes.ts';
import { createAlbumPages, createLookCounter } from './pages.ts';
import type { newAlbumAnswer } from './schemas.ts';
import { albumFactsView, albumPageView, albumView } from './views.ts';
import { type AlbumWish, additionBody, albumBody, albumChangeBody } from './wishes.ts';

const pageQuery = Type.Object(pagingOf(MAX_PER_PAGE, ID_PATTERN.source));
const shownQuery = Type.Object({ page: listQuery.properties.page });

/** `<id>` is the page, `<id>.zip` the file. */
const FILE = /^([0-9A-Za-z]{12})(\.zip)?$/;

const fate = (description: string) =>
  Type.Optional(oneOf(['keep', 'delete'], description, { default: 'keep' }));
const removeQuery = Type.Object({
  images: fate('`delete`: also delete those of its images that the caller may delete.'),
});
const takeOutQuery = Type.Object({ image: fate('`delete`: also delete what a guest has added.') });

interface AlbumRoutesOptions {
  albums: Albums;
  service: Pick<ImageService, 'find' | 'read' | 'accessed' | 'cookies' | 'limits' | 'takeBack'>;
  siteOf: SiteOf;
  pages: Pages;
  intake: Intake;
  /** Path under which browsers reach the routes, for links. */
  basePath: string;
  /** Counts what albums cost beyond the request. Default: unlimited. */
  countReads?: CountReads | undefined;
}

/** What the handlers share. */
interface Shared extends Pick<AlbumRoutesOptions, 'albums' | 'basePath'> {
  countLook: ReturnType<typeof createLookCounter>;
  pages: ReturnType<typeof createAlbumPages>;
}

/** An album without options needs no body, for which Deno has a stream all the same. */
const newAlbum = {
  schema: albumBody,
  read: async (request: Request): Promise<AlbumWish> => {
    const { headers } = request;
    const isEmpty = !Number(headers.get('content-length')) && !headers.has('transfer-encoding');
    return isEmpty && !headers.has('content-type') ? {} : json(albumBody).read(request);
  },
};

/** Counts as an upload, but what is changed brings a token of its own. */
const CHANGE = { limit: 'upload', ownToken: true } as const;

/** Albums over HTTP. */
export function albumRoutes(options: AlbumRoutesOptions): Route[] {
  const { albums, service, basePath, countReads } = options;
  const download = createDownloads({ service, countReads });
  const countLook = createLookCounter(countReads);
  const pages = createAlbumPages({ ...options, download, countLook });
  const shared: Shared = { albums, basePath, countLook, pages };
  return [
    ...guestRoutes(options),
    route('POST /api/albums', (call) => create(shared, call), {
      body: newAlbum,
      limit: 'upload',
      about: albumDetails.create,
    }),
    route('GET /api/albums/:id', (call) => show(shared, call), {
      query: pageQuery,
      about: albumDetails.show,
    }),
    route(
      'PATCH /api/albums/:id',
      (call) => facts(shared, call, albums.change(call.params.id, call.body, keeperOf(call))),
      { body: json(albumChangeBody), ...CHANGE, about: albumDetails.change },
    ),
    route('DELETE /api/albums/:id', (call) => remove(shared, call), {
      query: removeQuery,
      about: albumDetails.remove,
    }),
    route(
      'POST /api/albums/:id/images',
      (call) => facts(shared, call, albums.add(call.params.id, call.body.images, keeperOf(call))),
      { body: json(additionBody), ...CHANGE, about: albumDetails.add },
    ),
    route('DELETE /api/albums/:id/images/:image', (call) => takeOut(shared, call), {
      query: takeOutQuery,
      about: albumDetails.takeOut,
    }),
    route('GET /a/:file/:image', (call) => shared.pages.picture(call, call.params.file, call.params.image), {
      about: albumDetails.picture,
    }),
    route('GET /a/:file', (call) => showPage(shared, call), { query: shownQuery, about: albumDetails.page }),
  ];
}

type OfAlbum = { params: { id: string } };

async function create({ albums, basePath }: Shared, call: Call<{ body: AlbumWish }>): Promise<Response> {
  const { album, token } = await albums.create(call.body, call.context.admin);
  const view: Static<typeof newAlbumAnswer.schema> = {
    ...{ success: true, token },
    ...albumView(call.context.origin + basePath, album),
  };
  return unkept(view, 201, { location: view.url });
}

async function show(
  { albums, basePath, countLook }: Shared,
  { params, query, context }: Call<OfAlbum & { query: typeof pageQuery }>,
): Promise<Response> {
  const { page = 1, cursor = null, per_page = MAX_PER_PAGE } = query;
  const album = await albums.find(params.id);
  await countLook(context.peer, album);
  const view = albumPageView(context.origin + basePath, album, await albums.pictures(album), {
    page,
    after: cursor,
    perPage: Math.min(per_page, MAX_PER_PAGE),
    isLocked: ({ passwordHash }) => passwordHash !== null,
  });
  return unkept(view);
}

/** Deletes an album and, if asked, those of its images that the caller may delete. */
async function remove(
  { albums }: Shared,
  call: Call<OfAlbum & { query: typeof removeQuery }>,
): Promise<Response> {
  const { request, context, query } = call;
  const { id } = call.params;
  const deleter = query.images === 'delete' ? deleterOf(request, context) : null;
  const { removed, kept } = await albums.remove(id, keeperOf(call), deleter);
  return Response.json({ success: true, id, removed_images: removed, kept_images: kept });
}

async function takeOut(
  shared: Shared,
  call: Call<{ params: { id: string; image: string }; query: typeof takeOutQuery }>,
): Promise<Response> {
  const { id, image } = call.params;
  const by = {
    ...keeperOf(call),
    deleteToken: tokenOf(call.request),
    deletes: call.query.image === 'delete',
  };
  return facts(shared, call, shared.albums.takeOut(id, image, by));
}

/** Shows the page of an album, or sends its ZIP file. */
function showPage(
  { pages }: Shared,
  call: Call<{ params: { file: string }; query: typeof shownQuery }>,
): Promise<Response> {
  const [, id = '', isZip] = FILE.exec(call.params.file) ?? [];
  return isZip ? pages.zip(call, id) : pages.show(call, id, call.query.page ?? 1);
}

async function facts(
  { albums, basePath }: Shared,
  { context }: Caller,
  changed: Promise<AlbumRecord>,
): Promise<Response> {
  const album = await changed;
  const { length } = await albums.pictures(album);
  return unkept(albumFactsView(context.origin + basePath, album, length));
}
