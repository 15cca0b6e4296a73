import { Elysia } from 'elysia';
import { policy } from '../http/policy.ts';
import { readJson } from '../http/read-json.ts';
import type { ContextOf } from '../http/request-context.ts';
import { qrSvg } from '../lib/qr-code.ts';
import { coerce } from '../lib/schema.ts';
import type { SiteOf } from '../web/site.ts';
import { deleterOf, tokenOf } from './access/deleter.ts';
import { albumRoutes } from './album-routes.ts';
import type { Albums } from './albums/albums.ts';
import type { CountReads } from './albums/download.ts';
import { parseChange } from './change.ts';
import { clientRoutes } from './client-routes.ts';
import { CLIENTS } from './clients/clients.ts';
import { createHost } from './clients/host.ts';
import { lskyAtRoot } from './clients/lsky.ts';
import { nullPointerAtLink } from './clients/null-pointer.ts';
import { sharexUploader } from './clients/sharex.ts';
import { parseCursor } from './cursor.ts';
import { details } from './descriptions.ts';
import { pageUrl } from './links.ts';
import { notFound } from './missing.ts';
import { createPages } from './pages.ts';
import { DEFAULT_PER_PAGE, listQuery, MAX_PER_PAGE, searchQuery } from './schemas.ts';
import { answerFile, asksForAuto, openImage, parseFileName } from './serve/direct-link.ts';
import { createDirectLinkCache } from './serve/direct-link-cache.ts';
import { isPreview } from './serve/limited.ts';
import { type ErrorHeaders, PRIVATE_CACHE } from './serve/serve.ts';
import type { ImageService } from './service.ts';
import type { FromUrl } from './upload/fetch-ordered.ts';
import { createIntake } from './upload/intake.ts';
import { createUploads } from './uploads.ts';
import { changeView, infoView, listView } from './views.ts';

/** How long a caller waits for a cleanup, in ms: less than reverse proxies commonly wait. */
const CLEANUP_BUDGET_MS = 20_000;

export interface ImageRoutesOptions {
  service: ImageService;
  albums: Albums;
  contextOf: ContextOf;
  /** Path under which browsers reach the routes, for links. */
  basePath: string;
  siteOf: SiteOf;
  /** True if only holders of tokens may upload. */
  needsToken?: boolean;
  /** Names of the services whose clients are supported. Default: all. */
  clients?: readonly string[];
  /** Counts each further file of a form; see `createIntake`. */
  countUpload?: (peer: string) => Promise<void>;
  /** Counts what albums cost beyond the request, as reads of the client. */
  countReads?: CountReads;
  /** How pictures are uploaded by URL. Default: not at all. */
  fromUrl?: FromUrl;
  /** Whether scripts of every site may read the files of public images. Default: true. */
  cors?: boolean;
}

/** The HTTP interface of the image host, except `GET /api/stats`, which may be shared with another service. */
export function imageRoutes(options: ImageRoutesOptions) {
  const {
    service,
    albums,
    contextOf,
    basePath,
    siteOf,
    needsToken = false,
    cors = true,
    countUpload,
    fromUrl = null,
  } = options;
  const clients = options.clients ?? CLIENTS.map(({ name }) => name);
  const pages = createPages({ service, siteOf, basePath });
  const intake = createIntake({ service, albums, contextOf, countUpload, fromUrl });
  const upload = createUploads({ intake, contextOf, pages, basePath });
  const baseOf = (request: Request) => contextOf(request).origin + basePath;

  const host = createHost({ service, intake, contextOf, baseOf });
  // For clients that expect the paths of their service at the root.
  const uploadingClient = (request: Request) => (clients.includes('lsky') ? lskyAtRoot(request) : null);
  const linkClient = (request: Request) => (clients.includes('0x0') ? nullPointerAtLink(request) : null);

  async function list(
    request: Request,
    asked: { page?: number; per_page?: number; cursor?: string; q?: string },
  ): Promise<Response> {
    const { page = 1, per_page = DEFAULT_PER_PAGE, cursor, q } = asked;
    const perPage = Math.min(per_page, MAX_PER_PAGE);
    const found = await service.list({
      page,
      perPage,
      ...(cursor !== undefined && { after: parseCursor(cursor) }),
      ...(q !== undefined && { text: q }),
    });
    const view = listView(baseOf(request), found, { page, perPage, ...(q !== undefined && { query: q }) });
    return Response.json(view, { headers: { 'cache-control': 'no-cache' } });
  }

  async function qrCode(request: Request, id: string): Promise<Response> {
    await service.find(id);
    return new Response(qrSvg(pageUrl(baseOf(request), id)), {
      headers: { 'content-type': 'image/svg+xml', 'cache-control': 'private, max-age=3600' },
    });
  }

  async function file(request: Request, name: string, errorHeaders: ErrorHeaders): Promise<Response> {
    const asked = parseFileName(name);
    if (asked === null) throw notFound();
    const { id, extension } = asked;
    const isPage = extension === null && !asksForAuto(request);
    // Programs that preview links must not use up a view.
    if (isPage || (isPreview(request) && (await service.find(id)).maxViews !== null)) {
      return pages.show(request, contextOf(request), id);
    }
    return answerFile(service, request, contextOf, { id, extension, cors }, errorHeaders).catch((error) =>
      pages.leadToForm(error, request, id),
    );
  }

  return new Elysia()
    .use(clientRoutes({ host, names: clients }))
    .use(albumRoutes({ albums, service, contextOf, siteOf, basePath, countReads: options.countReads }))
    .post(
      '/api/upload',
      ({ request }) => uploadingClient(request)?.answer(request, host, '') ?? upload(request),
      {
        parse: 'none',
        detail: details.upload,
        ...policy({
          limit: 'upload',
          bytes: 'upload_bytes',
          dialect: (request) => uploadingClient(request)?.dialect ?? null,
        }),
      },
    )
    .get(
      '/api/info/:id',
      async ({ request, params, set }) => {
        const image = await service.find(params.id);
        await openImage(service, request, () => contextOf(request).peer, image, set.headers as ErrorHeaders);
        const cache = image.passwordHash === null ? 'no-cache' : PRIVATE_CACHE;
        return Response.json(infoView(baseOf(request), image), { headers: { 'cache-control': cache } });
      },
      { detail: details.info },
    )
    .get('/api/list', ({ request, query }) => list(request, query), {
      query: listQuery,
      transform: ({ query }) => coerce(listQuery, query),
      detail: details.list,
    })
    .get('/api/search', ({ request, query }) => list(request, query), {
      query: searchQuery,
      transform: ({ query }) => coerce(searchQuery, query),
      detail: details.search,
    })
    .patch(
      '/api/image/:id',
      async ({ request, params: { id } }) => {
        const by = { peer: null, token: tokenOf(request), admin: contextOf(request).admin };
        const wish = parseChange(await readJson(request));
        const before = await service.find(id);
        const image = await service.change(id, wish, by);
        const view = changeView(baseOf(request), image, service.cachedUntil(before));
        return Response.json(view, { headers: { 'cache-control': 'no-store' } });
      },
      { parse: 'none', detail: details.change, ...policy({ limit: 'upload' }) },
    )
    .delete(
      '/api/delete/:id',
      async ({ request, params: { id } }) => {
        await service.remove(id, deleterOf(request, contextOf(request)));
        return Response.json({ success: true, id });
      },
      { parse: 'none', detail: details.remove },
    )
    .post(
      '/api/cleanup',
      async ({ request }) => {
        const { admin } = contextOf(request);
        const { removed, freedBytes, complete } = await service.cleanup(CLEANUP_BUDGET_MS, admin);
        return Response.json({ success: true, removed, freed_bytes: freedBytes, complete });
      },
      { parse: 'none', detail: details.cleanup, ...policy({ limit: 'job', admin: 'once set' }) },
    )
    .get('/i/:file', ({ request, params, set }) => file(request, params.file, set.headers as ErrorHeaders), {
      detail: details.file,
      ...policy({ cached: createDirectLinkCache(service, cors) }),
    })
    .post(
      '/i/:file',
      ({ request, params: { file } }) =>
        linkClient(request)?.answer(request, host, file) ?? pages.unlock(request, contextOf(request), file),
      {
        parse: 'none',
        detail: details.unlock,
        ...policy({ dialect: (request) => linkClient(request)?.dialect ?? null }),
      },
    )
    .get('/i/:file/qr.svg', ({ request, params }) => qrCode(request, params.file), { detail: details.qrCode })
    .post('/i/:file/lock', ({ request, params }) => pages.lock(request, contextOf(request), params.file), {
      parse: 'none',
      detail: details.lock,
    })
    .get(
      '/i/:file/delete',
      ({ request, params }) => pages.askDelete(request, contextOf(request), params.file),
      {
        detail: details.askDelete,
      },
    )
    .post(
      '/i/:file/delete',
      ({ request, params }) => pages.confirmDelete(request, contextOf(request), params.file),
      {
        parse: 'none',
        detail: details.confirmDelete,
      },
    )
    .get(
      '/sharex.sxcu',
      ({ request }) =>
        Response.json(sharexUploader(baseOf(request), needsToken), {
          headers: {
            'content-disposition': 'attachment; filename="picpool.sxcu"',
            'cache-control': 'no-cache',
          },
        }),
      { detail: details.sharex },
    );
}
