import type { Static } from '@sinclair/typebox';
import { AppError } from '../errors.ts';
import { type Call, type Caller, form, json, type Route, route } from '../http/route.ts';
import { unkept } from '../http/unkept.ts';
import { qrSvg } from '../lib/qr-code.ts';
import type { SiteOf } from '../web/site.ts';
import { deleterOf, tokenOf } from './access/deletion-rights.ts';
import type { Albums } from './albums/albums.ts';
import type { CountReads } from './albums/download.ts';
import { albumRoutes } from './albums/routes.ts';
import { type ChangeWish, changeBody } from './change.ts';
import { type Host, plainRefusal } from './clients/client.ts';
import { CLIENTS, clientRoutes, sharexUploader } from './clients/clients.ts';
import { createHost } from './clients/host.ts';
import { lskyAtRoot } from './clients/lsky.ts';
import { isManaging, manageByForm } from './clients/null-pointer.ts';
import { details } from './descriptions.ts';
import { integrationsRoute } from './pages/integrations-page.ts';
import { createPages, type Pages } from './pages/pages.ts';
import { chosenAudience } from './records/audience.ts';
import { previewOf } from './records/blob-keys.ts';
import { parseCursor } from './records/cursor.ts';
import { pageUrl } from './records/links.ts';
import { notFound } from './records/missing.ts';
import { cleanupQuery, DEFAULT_PER_PAGE, listQuery, MAX_PER_PAGE, searchQuery } from './schemas.ts';
import {
  answerFile,
  asksForAuto,
  createDirectLinkCache,
  openImage,
  parseFileName,
} from './serve/direct-link.ts';
import { isPreview } from './serve/limited.ts';
import { PRIVATE_CACHE, serveImage } from './serve/serve.ts';
import type { ImageService } from './service.ts';
import { readFields } from './upload/body.ts';
import type { FromUrl } from './upload/from-url.ts';
import { createIntake, createUploads } from './upload/intake.ts';
import { changeView, infoView, listView } from './views.ts';

/** How long a caller waits for a cleanup, in ms: less than reverse proxies commonly wait. */
const CLEANUP_BUDGET_MS = 20_000;

interface ImageRoutesOptions {
  service: ImageService;
  albums: Albums;
  /** Path under which browsers reach the routes, for links. */
  basePath: string;
  siteOf: SiteOf;
  /** True if only holders of tokens may upload. */
  needsToken?: boolean;
  /** Names of the services whose clients are supported. Default: all. */
  clients?: readonly string[];
  /** Counts each further file of a form; see `createIntake`. */
  countUpload?: ((peer: string) => Promise<void>) | undefined;
  /** Rejects for a client whose network is blocked. Default: none is. */
  mayWrite?: (peer: string) => Promise<void>;
  /** Counts what albums cost beyond the request, as reads of the client. */
  countReads?: CountReads | undefined;
  /** How pictures are uploaded by URL. Default: not at all. */
  fromUrl?: FromUrl;
  /** Whether scripts of every site may read the files of public images. Default: true. */
  cors?: boolean;
}

/** What the handlers share. */
interface Shared {
  service: ImageService;
  pages: Pages;
  /** The image host as clients of other services use it. */
  host: Host;
  basePath: string;
  cors: boolean;
}

/** The HTTP interface of the image host, except `GET /api/stats`, which may be shared with another service. */
export function imageRoutes(options: ImageRoutesOptions): Route[] {
  const { service, albums, basePath, siteOf, needsToken = false, cors = true, countReads } = options;
  const clients = options.clients ?? CLIENTS.map(({ name }) => name);
  const pages = createPages({ service, siteOf, basePath });
  const { countUpload, fromUrl = null } = options;
  const intake = createIntake({ service, albums, countUpload, fromUrl });
  const upload = createUploads({ intake, pages, basePath });
  const host = createHost({ service, intake, basePath, mayWrite: options.mayWrite });
  const shared: Shared = { service, pages, host, basePath, cors };
  // For clients that expect the paths of their service at the root.
  const uploadingClient = (request: Request) => (clients.includes('lsky') ? lskyAtRoot(request) : null);

  return [
    ...clientRoutes(host, clients),
    ...albumRoutes({ albums, service, pages, intake, siteOf, basePath, countReads }),
    route(
      'POST /api/upload',
      (call) => uploadingClient(call.request)?.answer(call, host, '') ?? upload(call),
      {
        limit: 'upload',
        bytes: 'upload_bytes',
        dialect: (request) => uploadingClient(request)?.dialect ?? null,
        about: details.upload,
      },
    ),
    // What is shared with the installed app, which sends no options.
    route(
      'POST /share',
      (call) => {
        const chosen = chosenAudience(call.request, service.limits);
        const visibility = chosen === 'protected' ? 'unlisted' : chosen;
        return upload(call, { optionsOf: (fields) => ({ visibility, ...fields }) });
      },
      { limit: 'upload', bytes: 'upload_bytes' },
    ),
    route('GET /api/info/:id', (call) => showInfo(shared, call), { about: details.info }),
    route('GET /api/list', (call) => list(shared, call), { query: listQuery, about: details.list }),
    route('GET /api/search', (call) => list(shared, call), { query: searchQuery, about: details.search }),
    route('PATCH /api/image/:id', (call) => change(shared, call), {
      ...{ body: json(changeBody), limit: 'upload', ownToken: true, about: details.change },
    }),
    route('DELETE /api/delete/:id', (call) => remove(shared, call), { about: details.remove }),
    route('POST /api/cleanup', (call) => cleanUp(shared, call), {
      query: cleanupQuery,
      limit: 'job',
      admin: 'once set',
      about: details.cleanup,
    }),
    route('GET /i/:file', (call) => showFile(shared, call), {
      cached: createDirectLinkCache(service, cors),
      about: details.file,
    }),
    route(
      'POST /i/:file',
      async (call) => {
        const { file } = call.params;
        const fields = await readFields(call.request);
        const isManaged = clients.includes('0x0') && isManaging(fields);
        return isManaged ? manageByForm(call, host, file, fields) : pages.unlock(call, file, fields);
      },
      {
        // No page sends this form in parts, so that the client is known before its form is read.
        dialect: ({ headers }) =>
          clients.includes('0x0') && headers.get('content-type')?.startsWith('multipart/')
            ? plainRefusal
            : null,
        evenBlocked: true,
        about: details.unlock,
      },
    ),
    route('POST /i/:file/view', (call) => view(shared, call), {
      limit: 'read',
      evenBlocked: true,
      about: details.view,
    }),
    route('GET /i/:file/qr.svg', (call) => showQrCode(shared, call), { about: details.qrCode }),
    route('GET /i/:file/preview.jpg', (call) => showPreview(shared, call), { about: details.preview }),
    route('GET /i/:file/delete', (call) => pages.askDelete(call, call.params.file), {
      about: details.askDelete,
    }),
    route(
      'POST /i/:file/delete',
      (call) => pages.confirmDelete(call, call.params.file, call.body.get('token')),
      {
        body: form,
        about: details.confirmDelete,
      },
    ),
    // A picture is often deleted together with a block of its uploader.
    route('POST /i/:file/answer', (call) => pages.answer(call, call.params.file, call.body), {
      body: form,
      evenBlocked: true,
    }),
    integrationsRoute({ siteOf, basePath, needsToken, clients }),
    route('GET /sharex.sxcu', (call) => showSharex(baseOf(shared, call), needsToken), {
      about: details.sharex,
    }),
  ];
}

type OfImage = { params: { id: string } };
type OfFile = { params: { file: string } };

/** Returns scheme, host and base path under which the caller reaches the image host. */
function baseOf({ basePath }: Shared, { context }: Caller): string {
  return context.origin + basePath;
}

async function showInfo(shared: Shared, call: Call<OfImage>): Promise<Response> {
  const image = await shared.service.find(call.params.id);
  await openImage(shared.service, call, image);
  const cache = image.passwordHash === null ? 'no-cache' : PRIVATE_CACHE;
  return Response.json(infoView(baseOf(shared, call), image), { headers: { 'cache-control': cache } });
}

/** Lists public images, or those that match a text. */
async function list(
  shared: Shared,
  call: Call<{ query: Static<typeof listQuery> & Partial<Static<typeof searchQuery>> }>,
): Promise<Response> {
  const { page = 1, per_page = DEFAULT_PER_PAGE, cursor, q } = call.query;
  const perPage = Math.min(per_page, MAX_PER_PAGE);
  const found = await shared.service.list({
    page,
    perPage,
    ...(cursor !== undefined && { after: parseCursor(cursor) }),
    ...(q !== undefined && { text: q }),
  });
  const query = q === undefined ? {} : { query: q };
  const view = listView(baseOf(shared, call), found, { page, perPage, ...query });
  return Response.json(view, { headers: { 'cache-control': 'no-cache' } });
}

async function change(shared: Shared, call: Call<OfImage & { body: ChangeWish }>): Promise<Response> {
  const { service } = shared;
  const { request, context, body } = call;
  const { id } = call.params;
  const before = await service.find(id);
  const log = { who: context.actor, peer: context.peer, why: Object.keys(body).join(', ') };
  const by = { peer: null, token: tokenOf(request), admin: context.admin, log };
  const image = await service.change(id, body, by);
  return unkept(changeView(baseOf(shared, call), image, service.cachedUntil(before)));
}

async function remove({ service }: Shared, { request, context, params }: Call<OfImage>): Promise<Response> {
  await service.remove(params.id, deleterOf(request, context));
  return Response.json({ success: true, id: params.id });
}

async function cleanUp(
  { service }: Shared,
  { context, query }: Call<{ query: typeof cleanupQuery }>,
): Promise<Response> {
  if (query.confirm && !context.admin) throw confirmedByStranger();
  const found = await service.cleanup(CLEANUP_BUDGET_MS, context.admin, query.confirm);
  const { removed, freedBytes, complete } = found;
  return Response.json({ success: true, removed, freed_bytes: freedBytes, complete });
}

/** Without `ADMIN_TOKEN` anyone may clean up, but nobody else's word ends a doubt about the clock. */
function confirmedByStranger(): AppError {
  return new AppError(
    'forbidden',
    'Only the administrator can confirm. Set ADMIN_TOKEN, or create a token with picpool token create NAME --role admin.',
  );
}

/** Sends a file, or shows the page of an image. */
async function showFile(shared: Shared, call: Call<OfFile>): Promise<Response> {
  const { service, pages } = shared;
  const asked = parseFileName(call.params.file);
  if (asked === null) throw notFound();
  const isPage = asked.extension === null && !asksForAuto(call.request);
  // Programs that preview links must not use up a view.
  if (isPage || (isPreview(call.request) && (await service.find(asked.id)).maxViews !== null)) {
    return pages.show(call, asked.id);
  }
  return sendFile(shared, call, asked);
}

/** Sends a file even to what looks like a preview: only people send a form, whatever their browser calls itself. */
async function view(shared: Shared, call: Call<OfFile>): Promise<Response> {
  const asked = parseFileName(call.params.file);
  if (asked === null || asked.extension === null) throw notFound();
  return sendFile(shared, call, asked);
}

function sendFile(
  { service, pages, cors }: Shared,
  call: Call,
  asked: { id: string; extension: string | null },
): Promise<Response> {
  return answerFile(service, call, { ...asked, cors }).catch((error) =>
    pages.leadToForm(error, call.request, asked.id),
  );
}

/** Sends what chats and forums show of a link. */
async function showPreview({ service, cors }: Shared, call: Call<OfFile>): Promise<Response> {
  const { request, context, headers } = call;
  const image = await service.find(call.params.file);
  await openImage(service, call, image);
  if (image.maxViews !== null) throw notFound();
  const { head, payer } = context;
  const asked = { image, shape: previewOf(image), vary: false, download: false, cors, head, payer };
  return serveImage(service, request, asked, headers);
}

async function showQrCode(shared: Shared, call: Call<OfFile>): Promise<Response> {
  const id = call.params.file;
  await shared.service.find(id);
  return new Response(qrSvg(pageUrl(baseOf(shared, call), id)), {
    headers: { 'content-type': 'image/svg+xml', 'cache-control': 'private, max-age=3600' },
  });
}

function showSharex(base: string, needsToken: boolean): Response {
  return Response.json(sharexUploader(base, needsToken), {
    headers: {
      'content-disposition': 'attachment; filename="picpool.sxcu"',
      'cache-control': 'no-cache',
    },
  });
}
