import { type Static, Type } from '@sinclair/typebox';
import { type Route, route } from '../../http/route.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import { pageResponse } from '../../web/page-response.ts';
import type { Site } from '../../web/site.ts';
import type { ImageRecord } from '../image.ts';
import { formatCursor, parseCursor } from '../records/cursor.ts';
import { listQuery } from '../schemas.ts';
import type { Page } from '../store.ts';
import type { PagesOptions } from './page-parts.ts';
import { pictureRows } from './picture-rows.ts';

const PER_PAGE = 40;

const galleryQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 255 })),
  cursor: listQuery.properties.cursor,
});

interface GalleryPage extends Pick<Page<ImageRecord>, 'total' | 'exact'> {
  basePath: string;
  /** True if every visitor may upload. */
  open: boolean;
  query: Static<typeof galleryQuery>;
  tiles: readonly ImageRecord[];
  next: string | null;
}

/** The page of the public images. `open`: every visitor may upload, so that pictures can be pasted here. */
export function galleryRoute({ service, siteOf, basePath, open }: PagesOptions & { open: boolean }): Route {
  return route(
    'GET /gallery',
    async ({ request, query: asked }) => {
      const query = { ...asked, q: asked.q?.trim() ?? '' };
      const { q, cursor } = query;
      const { items, next, ...count } = await service.list({
        ...{ page: 1, perPage: PER_PAGE },
        ...(cursor !== undefined && { after: parseCursor(cursor) }),
        ...(q !== '' && { text: q }),
      });
      const site = siteOf(request);
      const shown = { basePath, open, query, tiles: items, ...count, next: next && formatCursor(next) };
      return pageResponse(site, galleryPage(site, shown), { cache: 'no-cache', compressFor: request });
    },
    { query: galleryQuery },
  );
}

/** Renders the public images, newest first, with a search that also works without a script. */
function galleryPage(site: Site, gallery: GalleryPage): string {
  const { words } = site;
  const path = `${gallery.basePath}/gallery`;
  return site.render({
    title: words.frame.nav.gallery,
    summary: words.gallery.summary,
    current: path,
    scripts: ['copy.js', 'results.js', 'gallery.js'],
    // Nothing is painted before all rows have come: each moves the pictures of the row before it.
    head: html`<link rel="expect" href="#announcer" blocking="render">`,
    content: html`<header class="page-head">
<h1>${words.frame.nav.gallery}</h1>
${search(site, gallery, path)}
</header>
<div id="results">${results(site, gallery, path)}</div>
${gallery.open && html`<form data-paste method="post" enctype="multipart/form-data" action="${gallery.basePath}/share" hidden><input type="file" name="image" multiple></form>`}`,
  });
}

function search({ words: { gallery } }: Site, { query }: GalleryPage, path: string): Html {
  return html`<form class="search" role="search" action="${path}" data-results="results">
<label class="visually-hidden" for="q">${gallery.search}</label>
${icon('search')}<input id="q" type="search" name="q" value="${query.q ?? ''}" maxlength="255" placeholder="${gallery.search}" autocomplete="off" enterkeyhint="search">
<noscript><button type="submit">${gallery.show}</button></noscript>
</form>`;
}

function results(site: Site, gallery: GalleryPage, path: string): Html {
  const { tiles, basePath, next } = gallery;
  const { cursor: current, q = '' } = gallery.query;
  const href = (cursor: string | null) => {
    const fields = new URLSearchParams({
      ...(q !== '' && { q }),
      ...(cursor !== null && { cursor }),
    }).toString();
    return fields === '' ? path : `${path}?${fields}`;
  };
  return html`<p class="muted wrap" data-summary>${summaryOf(site, gallery)}${current !== undefined && html` <a href="${href(null)}">${site.words.gallery.newest}</a>`}</p>
${tiles.length > 0 ? pictureRows(site, tiles, basePath) : nothing(site, q)}
${next !== null && html`<p class="more"><a class="button quiet" rel="next" href="${href(next)}" data-more>${site.words.gallery.more}</a></p>`}`;
}

function summaryOf({ words: { gallery } }: Site, { total, exact, query: { q = '' } }: GalleryPage): string {
  if (q === '') return gallery.pictures(total);
  return exact ? gallery.foundFor(total, q) : gallery.foundMore(total, q);
}

function nothing({ words: { gallery }, path }: Site, text: string): Html {
  if (text !== '') return html`<p class="empty">${icon('search')}${gallery.none}</p>`;
  return html`<p class="empty">${icon('picture')}${gallery.empty} <a href="${path}/">${gallery.uploadFirst}</a></p>`;
}
