import { AppError } from '../errors.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { TakenWith } from '../lib/taken-with.ts';
import { reasonOf } from '../web/error-page.ts';
import { type ImagePage, imagePage } from '../web/image-page.ts';
import { limitedPage } from '../web/limited-page.ts';
import { pageResponse } from '../web/page-response.ts';
import { uploadedPage } from '../web/uploaded-page.ts';
import { credentialsOf } from './access/credentials.ts';
import { deleterOf } from './access/deleter.ts';
import { createFlashCookie } from './access/flash-cookie.ts';
import { THUMBNAIL_WIDTHS } from './blob-keys.ts';
import { createDeletePages, type DeletePages } from './delete-pages.ts';
import { EXTENSIONS, type ImageRecord, MEDIA_TYPES, NEVER, visibilityOf } from './image.ts';
import { deleteUrl, linksOf } from './links.ts';
import { asCookie, type PagesOptions, redirectTo } from './page-parts.ts';
import { createPasswordPages, formAgain, type PasswordPages } from './password-pages.ts';
import { placeholderOf } from './placeholder.ts';
import { PRIVATE_CACHE } from './serve/serve.ts';
import type { ImageService } from './service.ts';
import type { Outcome, Uploaded } from './upload/uploaded.ts';

/** The pages of single images. */
export interface Pages extends PasswordPages, DeletePages {
  /** Redirects a browser that has uploaded an image by form to its page, which shows the delete link once. */
  uploaded(request: Request, context: RequestContext, uploaded: Uploaded): Response;
  /** Answers a browser that has uploaded several images by form with a page that shows their delete links once. */
  uploadedSeveral(request: Request, context: RequestContext, outcomes: readonly Outcome[]): Response;
  /** Shows the page of an image, or the password form with status 401. */
  show(request: Request, context: RequestContext, id: string): Promise<Response>;
}

export function createPages({ service, siteOf, basePath }: PagesOptions): Pages {
  const flashCookie = createFlashCookie(basePath);
  const cookiesFor = (image: ImageRecord, { origin }: RequestContext) =>
    service.cookies.issue(image, { origin, basePath }).map(asCookie);

  /** Returns the neighbours of the picture. If the store does not answer, the page works without them. */
  async function beside(image: ImageRecord): ReturnType<ImageService['beside']> {
    return service.beside(image).catch((error: unknown) => {
      if (error instanceof AppError) return { newer: null, older: null };
      throw error;
    });
  }

  return {
    ...createPasswordPages({ service, siteOf, basePath }),
    ...createDeletePages({ service, siteOf, basePath }),

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
          : { filename: outcome.filename, fault: reasonOf(site, outcome.fault) },
      );
      return pageResponse(site, uploadedPage(site, items), { status: 201, cache: PRIVATE_CACHE });
    },

    async show(request, context, id) {
      const image = await service.find(id);
      const headers: [string, string][] = [];
      const site = siteOf(request);
      try {
        const { byPassword } = await service.open(image, credentialsOf(request), context.peer);
        // The browser requests the picture on the page without the header and the query.
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
      // Other pages may contain a link or a button that only this visitor may see.
      const isPublic = image.passwordHash === null && token === null;
      return pageResponse(site, page, { cache: isPublic ? 'private, no-cache' : PRIVATE_CACHE, headers });
    },
  };
}

/** Widths of the versions on a page: those offered that match common screens. */
const PAGE_WIDTHS = THUMBNAIL_WIDTHS.filter((width) => width >= 640);

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
    format,
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
    taken: image.exif === null ? null : (JSON.parse(image.exif) as TakenWith),
    links: linksOf(origin + basePath, image),
    oembed: `${origin}${basePath}/oembed`,
  };
}
