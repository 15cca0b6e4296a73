import { AppError } from '../../errors.ts';
import type { RequestContext } from '../../http/context.ts';
import type { Caller } from '../../http/route.ts';
import { reasonOf } from '../../web/error-page.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import { pageResponse } from '../../web/page-response.ts';
import type { Site } from '../../web/site.ts';
import { snippet } from '../../web/snippet.ts';
import { credentialsOf } from '../access/credentials.ts';
import { deleterOf } from '../access/deletion-rights.ts';
import type { ImageRecord } from '../image.ts';
import { pageUrl } from '../records/links.ts';
import { PRIVATE_CACHE } from '../serve/serve.ts';
import type { ImageService } from '../service.ts';
import type { Outcome } from '../upload/storing.ts';
import { uploadView } from '../views.ts';
import { createDeletePages } from './delete-pages.ts';
import { imagePage, isListed, limitedPage, type Neighbours } from './image-page.ts';
import type { PagesOptions } from './page-parts.ts';
import { createPasswordPages, formAgain } from './password-pages.ts';

export function createPages({ service, siteOf, basePath }: PagesOptions) {
  const cookiesFor = (image: ImageRecord, { origin }: RequestContext) =>
    service.cookies.issue(image, { origin, basePath });

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

    /**
     * Answers a browser that has uploaded images by form with a page that shows their links, what they have lost, and
     * once their delete links. `back`: the path of the form. Default: the home page.
     */
    uploaded({ request, context }: Caller, outcomes: readonly Outcome[], back?: string): Response {
      const site = siteOf(request);
      const base = context.origin + basePath;
      const items = outcomes.map((outcome) =>
        'uploaded' in outcome
          ? uploadView(base, outcome.uploaded)
          : { filename: outcome.filename, fault: reasonOf(site, outcome.fault) },
      );
      const stored = outcomes.flatMap((outcome) => ('uploaded' in outcome ? [outcome.uploaded] : []));
      const [one] = outcomes.length === 1 ? stored : [];
      const headers: [string, string][] = one ? [['location', pageUrl(base, one.image.id)]] : [];
      // Who has set a password need not type it again.
      if (one) headers.push(...cookiesFor(one.image, context));
      return pageResponse(site, uploadedPage(site, items, back ?? `${site.path}/`), {
        status: stored.every(({ inReview }) => inReview) ? 202 : 201,
        cache: PRIVATE_CACHE,
        headers,
      });
    },

    /**
     * Shows the page of an image, or the password form with status 401. `near`: its neighbours, if they are not those of
     * the gallery.
     */
    async show({ request, context }: Caller, id: string, near?: Neighbours): Promise<Response> {
      const image = await service.find(id);
      const headers: [string, string][] = [];
      const site = siteOf(request);
      try {
        const { byPassword } = await service.open(image, credentialsOf(request), context.peer);
        // The browser requests the picture on the page without the header and the query.
        if (byPassword) headers.push(...cookiesFor(image, context));
      } catch (error) {
        return formAgain(error, site, basePath, id, context.id, near?.album?.id);
      }
      if (!context.head) service.accessed(image);
      const view = {
        image,
        now: service.now(),
        origin: context.origin,
        basePath,
        deletable: service.mayRemove(image, deleterOf(request, context)),
        limits: service.limits,
      };
      if (!isListed(image, near?.album)) headers.push(['x-robots-tag', 'noindex']);
      if (image.maxViews !== null) {
        const page = limitedPage(site, view, near ?? { newer: null, older: null });
        return pageResponse(site, page, { cache: PRIVATE_CACHE, headers });
      }
      const page = imagePage(site, view, near ?? (await beside(image)));
      const isPublic = image.passwordHash === null;
      // Caches of others must not keep it: it may contain a button that only this visitor may see.
      return pageResponse(site, page, { cache: isPublic ? 'private, no-cache' : PRIVATE_CACHE, headers });
    },
  };
}

/** The pages of single images. */
export type Pages = ReturnType<typeof createPages>;

/** The result of one of several files: the answer of the API, or what was wrong. */
type UploadedItem = ReturnType<typeof uploadView> | { filename: string | null; fault: string };

/** Renders the answer to a form with several files. A script adds them to the browser's list. */
function uploadedPage(site: Site, items: readonly UploadedItem[], back: string): string {
  const { upload: words } = site.words;
  const stored = items.filter((item) => 'url' in item).length;
  return site.render({
    title: words.uploadedTitle,
    scripts: ['copy.js', 'image.js'],
    content: html`<h1>${site.formats.plural(stored, words.picturesUploaded)}</h1>
<p>${words.keepDeleteLinks}</p>
${items.map((item, index) => itemOf(site, item, index))}
<p class="actions"><a class="button" href="${back}">${words.uploadMore}</a></p>`,
  });
}

function itemOf(site: Site, item: UploadedItem, index: number): Html {
  const { upload: words } = site.words;
  if ('fault' in item) {
    const name = item.filename ?? words.fileNumber(site.formats.number(index + 1));
    return html`<section class="banner bad"><h2>${icon('warning')}${name}</h2><p>${item.fault}</p></section>
`;
  }
  return html`<section class="banner good" data-mine="${JSON.stringify(item)}"><h2>${icon('check')}<a href="${item.url}">${item.filename}</a></h2>
${item.review && html`<p>${words.inReview}</p>`}
${item.warnings.map(({ code }) => html`<p>${site.words.pictures.losses[code]}</p>`)}
${snippet(site, `page-${index}`, words.page, item.url)}
${snippet(site, `delete-${index}`, words.deleteLink, item.delete_url)}
</section>
`;
}
