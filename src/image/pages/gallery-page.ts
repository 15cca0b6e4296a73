import { type Static, Type } from '@sinclair/typebox';
import { FORMATS } from '../../codec/format.ts';
import { invalidParameter, message } from '../../errors.ts';
import { type Route, route } from '../../http/route.ts';
import { EXPECTS, oneOf } from '../../lib/schema.ts';
import { formatName } from '../../web/format-name.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import { pageResponse } from '../../web/page-response.ts';
import type { Site } from '../../web/site.ts';
import type { ImageRecord } from '../image.ts';
import { formatCursor, parseCursor } from '../records/cursor.ts';
import { type FilteredPage, listFiltered } from '../records/gallery.ts';
import { listQuery } from '../schemas.ts';
import type { PagesOptions } from './page-parts.ts';
import { pictureRows } from './picture-rows.ts';

const PER_PAGE = 40;
const DAY_MS = 86_400_000;

const day = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}$',
  [EXPECTS]: () => message('must be a date such as {example}', { example: '2026-01-31' }),
});

/** The query of the gallery; days are in UTC. */
const galleryQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 255 })),
  format: Type.Optional(oneOf(FORMATS)),
  from: Type.Optional(day),
  to: Type.Optional(day),
  cursor: listQuery.properties.cursor,
});

type GalleryQuery = Static<typeof galleryQuery>;

interface GalleryPage extends Pick<FilteredPage, 'total'> {
  basePath: string;
  /** True if every visitor may upload. */
  open: boolean;
  query: GalleryQuery;
  tiles: readonly ImageRecord[];
  /** Cursor of the next page. */
  next: string | null;
}

/** The page of the public images. `open`: every visitor may upload, so that pictures can be pasted here. */
export function galleryRoute({ service, siteOf, basePath, open }: PagesOptions & { open: boolean }): Route {
  return route(
    'GET /gallery',
    async ({ request, query }) => {
      const { q: text = '', format = null, from, to, cursor } = query;
      const filter = {
        text,
        format,
        from: from === undefined ? null : startOf('from', from),
        until: to === undefined ? null : startOf('to', to) + DAY_MS,
      };
      const after = cursor === undefined ? null : parseCursor(cursor);
      const found = await listFiltered(service, filter, { after, perPage: PER_PAGE });
      const { items: tiles, total } = found;
      const next = found.next && formatCursor(found.next);
      const site = siteOf(request);
      const page = galleryPage(site, { basePath, open, query, tiles, total, next });
      return pageResponse(site, page, { cache: 'no-cache', compressFor: request });
    },
    { query: galleryQuery },
  );
}

/** Returns when a day begins, in ms since 1970. */
function startOf(name: string, text: string): number {
  const ms = Date.parse(text);
  // Runtimes read February 31 as March 3.
  const exists = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
  if (!exists)
    throw invalidParameter(
      name,
      message('{field} must be a date such as {example}.', { field: name, example: '2026-01-31' }),
    );
  return ms;
}

/** Renders the public images, newest first, with filters that also work without a script. */
function galleryPage(site: Site, gallery: GalleryPage): string {
  const { words } = site;
  const path = `${gallery.basePath}/gallery`;
  return site.render({
    title: words.frame.nav.gallery,
    summary: words.gallery.summary,
    current: path,
    scripts: ['copy.js', 'results.js', 'gallery.js'],
    content: html`<header class="page-head">
<h1>${words.frame.nav.gallery}</h1>
${filters(site, gallery, path)}
</header>
<div id="results">${results(site, gallery, path)}</div>
${gallery.open && html`<form data-paste method="post" enctype="multipart/form-data" action="${gallery.basePath}/share" hidden><input type="file" name="image" multiple></form>`}`,
  });
}

function filters({ words: { gallery } }: Site, { query }: GalleryPage, path: string): Html {
  const choice = (value: string) =>
    html`<option value="${value}"${value === query.format && html` selected`}>${formatName(value)}</option>`;
  const isOpen = [query.format, query.from, query.to].some(Boolean);
  return html`<form class="gallery-filters" role="search" action="${path}" data-results="results">
<p class="search"><label class="visually-hidden" for="q">${gallery.search}</label>
${icon('search')}<input id="q" type="search" name="q" value="${query.q ?? ''}" maxlength="255" placeholder="${gallery.search}" autocomplete="off" enterkeyhint="search"></p>
<details${isOpen && html` open`}><summary>${icon('options')}${gallery.filters}</summary>
<div class="fields">
<p><label for="format">${gallery.format}</label> <select id="format" name="format"><option value="">${gallery.anyFormat}</option>${FORMATS.map(choice)}</select></p>
<p><label for="from">${gallery.from}</label> <input id="from" type="date" name="from" value="${query.from ?? ''}"></p>
<p><label for="to">${gallery.to}</label> <input id="to" type="date" name="to" value="${query.to ?? ''}"></p>
</div></details>
<noscript><button type="submit">${gallery.show}</button></noscript>
</form>`;
}

function results(site: Site, gallery: GalleryPage, path: string): Html {
  const { tiles, basePath, next } = gallery;
  const { words } = site;
  const { cursor: current, ...filter } = gallery.query;
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''));
  const isFiltered = Object.keys(given).length > 0;
  const href = (cursor: string | null) => {
    const fields = new URLSearchParams({ ...given, ...(cursor !== null && { cursor }) }).toString();
    return fields === '' ? path : `${path}?${fields}`;
  };
  return html`<p class="muted" data-summary>${summaryOf(site, gallery, isFiltered)}${current !== undefined && html` <a href="${href(null)}">${words.gallery.newest}</a>`}</p>
${tiles.length > 0 ? pictureRows(site, tiles, basePath) : nothing(site, gallery, isFiltered)}
${next !== null && html`<p class="more"><a class="button quiet" rel="next" href="${href(next)}" data-more>${words.gallery.more}</a></p>`}`;
}

function summaryOf({ words: { gallery } }: Site, page: GalleryPage, filtered: boolean): string {
  const { total, tiles, next } = page;
  const { q = '', cursor } = page.query;
  if (total === null)
    return next === null && cursor === undefined ? gallery.found(tiles.length) : gallery.newestFirst;
  if (!filtered) return gallery.pictures(total.total);
  return total.exact ? gallery.foundFor(total.total, q) : gallery.foundMore(total.total, q);
}

function nothing({ words: { gallery }, path }: Site, { next }: GalleryPage, filtered: boolean): Html {
  if (next !== null) return html`<p class="empty">${icon('search')}${gallery.noneYet}</p>`;
  if (filtered) return html`<p class="empty">${icon('search')}${gallery.none}</p>`;
  return html`<p class="empty">${icon('picture')}${gallery.empty} <a href="${path}/">${gallery.uploadFirst}</a></p>`;
}
