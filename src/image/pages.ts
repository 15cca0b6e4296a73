import { AppError } from '../errors.ts';
import { formatTimestamp } from '../shared/clock.ts';
import type { RequestContext } from '../shared/context.ts';
import { deletedPage, deletePage } from '../web/delete-page.ts';
import { imagePage } from '../web/image-page.ts';
import { pageResponse } from '../web/page-response.ts';
import { passwordPage } from '../web/password-page.ts';
import { credentialsOf } from './credentials.ts';
import { readForm } from './form.ts';
import { EXTENSIONS, type ImageRecord, MEDIA_TYPES } from './image.ts';
import { linksOf } from './links.ts';
import { PRIVATE_CACHE } from './serve.ts';
import type { ImageService } from './service.ts';

/** The pages of the image host, as answers to requests. */
export interface Pages {
  /** The page of an image; for a protected one without its password the form, with status 401. */
  show(request: Request, context: RequestContext, id: string): Promise<Response>;
  /** Takes the form's password: back to the page with a cookie, or the form again. */
  unlock(request: Request, context: RequestContext, id: string): Promise<Response>;
  /** Asks for confirmation; rejects with `forbidden` without the delete token. */
  askDelete(request: Request, id: string): Promise<Response>;
  /** Deletes; rejects with `forbidden` without the delete token. */
  confirmDelete(request: Request, id: string): Promise<Response>;
}

export function createPages(service: ImageService, basePath: string): Pages {
  const cookiesFor = (image: ImageRecord, { origin }: RequestContext) =>
    service.cookies.issue(image, origin, basePath).map((cookie): [string, string] => ['set-cookie', cookie]);

  async function owned(id: string, token: string | null): Promise<ImageRecord> {
    const image = await service.find(id);
    if (token !== null && service.ownsToken(image, token)) return image;
    throw new AppError('forbidden', 'The delete token is wrong.');
  }

  return {
    async show(request, context, id) {
      const image = await service.find(id);
      let cookies: [string, string][] = [];
      try {
        const { byPassword } = await service.open(image, credentialsOf(request), context.peer);
        // The picture on the page is a request of its own, which brings no header and no query.
        if (byPassword) cookies = cookiesFor(image, context);
      } catch (error) {
        return formAgain(error, basePath, id);
      }
      if (!context.head) service.accessed(image);
      const cache = image.passwordHash === null ? 'no-cache' : PRIVATE_CACHE;
      return pageResponse(imagePage(pageOf(image, context.origin, basePath)), { cache, headers: cookies });
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
        return formAgain(error, basePath, id);
      }
      const headers: [string, string][] = [
        ['location', `${basePath}/i/${id}`],
        ['cache-control', PRIVATE_CACHE],
      ];
      if (image.passwordHash !== null) headers.push(...cookiesFor(image, context));
      return new Response(null, { status: 303, headers });
    },

    async askDelete(request, id) {
      const token = new URL(request.url).searchParams.get('token') ?? '';
      const { filename } = await owned(id, token);
      return pageResponse(deletePage({ basePath, id, filename, token }), { cache: PRIVATE_CACHE });
    },

    async confirmDelete(request, id) {
      const token = (await readForm(request)).get('token');
      await owned(id, token);
      await service.remove(id, { peer: null, token, admin: false });
      return pageResponse(deletedPage({ basePath, id }), { cache: PRIVATE_CACHE });
    },
  };
}

/** The form, where an error can be mended by a password; else the error goes on. */
function formAgain(error: unknown, basePath: string, id: string): Response {
  if (!(error instanceof AppError)) throw error;
  const { code, message, retryAfterMs = 0 } = error;
  const form = (fault: string | null) => passwordPage({ basePath, id, fault });
  if (code === 'password_required') return pageResponse(form(null), { status: 401, cache: PRIVATE_CACHE });
  if (code === 'wrong_password') return pageResponse(form(message), { status: 401, cache: PRIVATE_CACHE });
  if (code !== 'rate_limited') throw error;
  const seconds = String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
  return pageResponse(form(message), {
    status: 429,
    cache: PRIVATE_CACHE,
    headers: [['retry-after', seconds]],
  });
}

function pageOf(image: ImageRecord, origin: string, basePath: string) {
  const { id, filename, format, width, height, frames, size, createdAt, passwordHash } = image;
  return {
    basePath,
    id,
    filename,
    extension: EXTENSIONS[format],
    mediaType: MEDIA_TYPES[format],
    width,
    height,
    frames,
    size,
    created: formatTimestamp(createdAt),
    protected: passwordHash !== null,
    links: linksOf(origin + basePath, image),
  };
}
