import { AppError, type ErrorCode } from '../errors.ts';
import { errorResponse } from '../http/errors.ts';
import { readForm } from '../http/read-form.ts';
import type { RequestContext } from '../http/request-context.ts';
import { deletedPage, deletePage } from '../web/delete-page.ts';
import { type ImagePage, imagePage } from '../web/image-page.ts';
import { limitedPage } from '../web/limited-page.ts';
import { acceptsHtml } from '../web/navigation.ts';
import { pageResponse } from '../web/page-response.ts';
import { passwordPage } from '../web/password-page.ts';
import type { Site, SiteOf } from '../web/site.ts';
import { uploadedPage } from '../web/uploaded-page.ts';
import { credentialsOf } from './access/credentials.ts';
import { deleterOf } from './access/deleter.ts';
import type { Deleter } from './access/deletion-rights.ts';
import { createFlashCookie } from './access/flash-cookie.ts';
import { THUMBNAIL_WIDTHS } from './blob-keys.ts';
import { EXTENSIONS, type ImageRecord, MEDIA_TYPES, NEVER, visibilityOf } from './image.ts';
import { deleteUrl, linksOf } from './links.ts';
import { placeholderOf } from './placeholder.ts';
import { PRIVATE_CACHE } from './serve/serve.ts';
import type { ImageService } from './service.ts';
import type { Outcome } from './upload/outcome.ts';
import type { Uploaded } from './upload/uploaded.ts';

/** The pages of single images, as answers to requests. */
export interface Pages {
  /** Sends a browser whose form has uploaded an image to its page, where the delete link is shown once. */
  uploaded(request: Request, context: RequestContext, uploaded: Uploaded): Response;
  /** Answers a browser whose form has sent several images with a page of them, where their delete links are shown once. */
  uploadedSeveral(request: Request, context: RequestContext, outcomes: readonly Outcome[]): Response;
  /** The page of an image; for a protected one without its password the form, with status 401. */
  show(request: Request, context: RequestContext, id: string): Promise<Response>;
  /** Leads a browser that has opened a direct link without the password to the form, on the page; any other error goes on. */
  leadToForm(error: unknown, request: Request, id: string): Response;
  /** Takes the form's password: back to the page with a cookie (programs get JSON with it), or the form again. */
  unlock(request: Request, context: RequestContext, id: string): Promise<Response>;
  /** Takes the cookie that `unlock` gave from the browser, and leads it to the page, which asks for the password. */
  lock(request: Request, context: RequestContext, id: string): Promise<Response>;
  /** Asks for confirmation; rejects with `forbidden` for who may not delete. */
  askDelete(request: Request, context: RequestContext, id: string): Promise<Response>;
  /** Deletes; rejects with `forbidden` for who may not. */
  confirmDelete(request: Request, context: RequestContext, id: string): Promise<Response>;
}

export interface PagesOptions {
  service: ImageService;
  siteOf: SiteOf;
  basePath: string;
}

export function createPages({ service, siteOf, basePath }: PagesOptions): Pages {
  const flashCookie = createFlashCookie(basePath);
  const cookiesFor = (image: ImageRecord, { origin }: RequestContext) =>
    service.cookies.issue(image, { origin, basePath }).map(asCookie);

  async function removable(id: string, by: Deleter): Promise<ImageRecord> {
    const image = (await service.inReview(id)) ?? (await service.find(id));
    if (service.mayRemove(image, by)) return image;
    throw new AppError(
      'forbidden',
      by.token === null ? 'Only the uploader may delete an image.' : 'The delete token is wrong.',
    );
  }

  /** The pictures beside it; a page stands without them where the store does not answer. */
  async function beside(image: ImageRecord): ReturnType<ImageService['beside']> {
    return service.beside(image).catch((error: unknown) => {
      if (error instanceof AppError) return { newer: null, older: null };
      throw error;
    });
  }

  return {
    uploaded(request, context, uploaded) {
      const { image, deleteToken, warnings } = uploaded;
      if (uploaded.inReview) return this.uploadedSeveral(request, context, [{ uploaded }]);
      const { pictures } = siteOf(request).words;
      const flash = { token: deleteToken, notes: warnings.map(({ code }) => pictures.losses[code]) };
      const headers = [
        ...redirectTo(`${basePath}/i/${image.id}`),
        asCookie(flashCookie.write(image.id, flash, context.origin)),
      ];
      if (image.passwordHash !== null) headers.push(...cookiesFor(image, context));
      return new Response(null, { status: 303, headers });
    },

    uploadedSeveral(request, context, outcomes) {
      const site = siteOf(request);
      const base = context.origin + basePath;
      const items = outcomes.map((outcome) =>
        'uploaded' in outcome
          ? {
              filename: outcome.uploaded.image.filename,
              url: linksOf(base, outcome.uploaded.image).url,
              deleteLink: deleteUrl(base, outcome.uploaded.image.id, outcome.uploaded.deleteToken),
              inReview: outcome.uploaded.inReview === true,
            }
          : { filename: outcome.filename, fault: outcome.fault.message },
      );
      return pageResponse(site, uploadedPage(site, items), { status: 201, cache: PRIVATE_CACHE });
    },

    async show(request, context, id) {
      const image = await service.find(id);
      const headers: [string, string][] = [];
      const site = siteOf(request);
      try {
        const { byPassword } = await service.open(image, credentialsOf(request), context.peer);
        // The picture on the page is a request of its own, which brings no header and no query.
        if (byPassword) headers.push(...cookiesFor(image, context));
      } catch (error) {
        return formAgain(error, site, basePath, id, context.id);
      }
      if (!context.head) service.accessed(image);
      const flash = flashCookie.read(request);
      const token = flash?.token ?? null;
      if (token !== null) headers.push(asCookie(flashCookie.clear(id, context.origin)));
      const view = {
        ...viewOf(image, context.origin, basePath),
        deletable: service.mayRemove(image, deleterOf(request, context)) || token !== null,
        deleteLink: token === null ? null : deleteUrl(context.origin + basePath, id, token),
        notes: flash?.notes ?? [],
        limited: image.maxViews !== null,
      };
      if (visibilityOf(image) !== 'public') headers.push(['x-robots-tag', 'noindex']);
      if (image.maxViews !== null) {
        const page = limitedPage(site, {
          ...view,
          viewsLeft: image.viewsLeft ?? 0,
          newer: null,
          older: null,
        });
        return pageResponse(site, page, { cache: PRIVATE_CACHE, headers });
      }
      const page = imagePage(site, { ...view, ...(await beside(image)) });
      // It may hold what is for this visitor alone: a link, or a button.
      const isPublic = image.passwordHash === null && token === null;
      return pageResponse(site, page, { cache: isPublic ? 'private, no-cache' : PRIVATE_CACHE, headers });
    },

    leadToForm(error, request, id) {
      const isMended = error instanceof AppError && MENDED_BY_FORM.includes(error.code);
      if (!isMended || !acceptsHtml(request)) throw error;
      return new Response(null, { status: 303, headers: redirectTo(`${basePath}/i/${id}`) });
    },

    async unlock(request, context, id) {
      const image = await service.find(id);
      const password = (await readForm(request)).get('password') ?? '';
      try {
        await service.open(
          image,
          { passwords: password === '' ? [] : [password], cookie: null },
          context.peer,
        );
      } catch (error) {
        return formAgain(error, siteOf(request), basePath, id, context.id);
      }
      const cookies = image.passwordHash === null ? [] : cookiesFor(image, context);
      if (acceptsHtml(request)) {
        const headers = [...redirectTo(`${basePath}/i/${id}`), ...cookies];
        return new Response(null, { status: 303, headers });
      }
      return Response.json(
        { success: true, id },
        { headers: [['cache-control', PRIVATE_CACHE], ...cookies] },
      );
    },

    async lock(request, { origin, peer }, id) {
      const image = await service.find(id);
      const { cookie } = credentialsOf(request);
      const opens = await service.open(image, { passwords: [], cookie }, peer).then(
        () => image.passwordHash !== null,
        () => false,
      );
      // The path of a cookie tells the format, which is nobody's business without the password.
      const cookies = opens ? service.cookies.clear(image, { origin, basePath }).map(asCookie) : [];
      const headers = [...redirectTo(`${basePath}/i/${id}`), ...cookies];
      return new Response(null, { status: 303, headers });
    },

    async askDelete(request, context, id) {
      const token = new URL(request.url).searchParams.get('token');
      const { filename, passwordHash } = await removable(id, deleter(request, context, token));
      // Who has only the uploader's address need not know the password; the name stays hidden then.
      const shown = token === null && passwordHash !== null ? id : filename;
      const site = siteOf(request);
      const page = deletePage(site, { basePath, id, filename: shown, token });
      return pageResponse(site, page, { cache: PRIVATE_CACHE });
    },

    async confirmDelete(request, context, id) {
      const token = (await readForm(request)).get('token');
      const by = deleter(request, context, token);
      await removable(id, by);
      await service.remove(id, by);
      const site = siteOf(request);
      return pageResponse(site, deletedPage(site, { basePath, id }), { cache: PRIVATE_CACHE });
    },
  };
}

/** Who shows a token is judged by it alone; who shows none, by the address. */
function deleter(request: Request, context: RequestContext, token: string | null): Deleter {
  return token === null ? deleterOf(request, context) : { peer: null, token, admin: false };
}

function asCookie(cookie: string): [string, string] {
  return ['set-cookie', cookie];
}

function redirectTo(location: string): [string, string][] {
  return [
    ['location', location],
    ['cache-control', PRIVATE_CACHE],
  ];
}

/** Versions for a page: of those that are offered, what screens are wide. */
const PAGE_WIDTHS = THUMBNAIL_WIDTHS.filter((width) => width >= 640);

/** Where it is not known how long to wait. */
const DEFAULT_WAIT_MS = 60_000;

/** Errors that a password mends, or a wait. */
const MENDED_BY_FORM: readonly ErrorCode[] = ['password_required', 'wrong_password', 'rate_limited'];

/** The form, where an error can be mended by it; else the error goes on. */
function formAgain(error: unknown, site: Site, basePath: string, id: string, requestId: string): Response {
  if (!(error instanceof AppError) || !MENDED_BY_FORM.includes(error.code)) throw error;
  const { status, headers } = errorResponse(error, requestId);
  const fault = faultWords(error, site);
  const retryAfter = headers.get('retry-after');
  return pageResponse(site, passwordPage(site, { basePath, id, fault }), {
    status,
    cache: PRIVATE_CACHE,
    headers: retryAfter === null ? [] : [['retry-after', retryAfter]],
  });
}

/** What was wrong with a password; `null` where none was given yet. */
function faultWords(
  { code, retryAfterMs = DEFAULT_WAIT_MS }: AppError,
  { words, formats }: Site,
): string | null {
  if (code === 'password_required') return null;
  if (code === 'wrong_password') return words.pictures.wrongPassword;
  return words.pictures.tooManyGuesses(formats.duration(retryAfterMs));
}

function viewOf(
  image: ImageRecord,
  origin: string,
  basePath: string,
): Omit<ImagePage, 'deletable' | 'deleteLink' | 'notes' | 'limited' | 'newer' | 'older'> {
  const { id, filename, format, width, height, frames, size, createdAt, expiresAt } = image;
  return {
    basePath,
    id,
    filename,
    extension: EXTENSIONS[format],
    mediaType: MEDIA_TYPES[format],
    path: `${basePath}/i/${id}.${EXTENSIONS[format]}`,
    placeholder: placeholderOf(image.thumbhash),
    widths: frames === 1 ? PAGE_WIDTHS.filter((one) => one < width) : [],
    width,
    height,
    frames,
    size,
    createdAt,
    visibility: visibilityOf(image),
    expires: expiresAt === NEVER ? 'never' : expiresAt,
    links: linksOf(origin + basePath, image),
    oembed: `${origin}${basePath}/oembed`,
  };
}
