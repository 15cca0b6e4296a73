import { FORMATS } from '../../codec/format.ts';
import { formatName } from '../../web/format-name.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import type { ImageRecord } from '../image.ts';
import { pictureRows, reservedRows } from './picture-rows.ts';

interface GalleryPage {
  basePath: string;
  tiles: readonly ImageRecord[];
  /** First pictures of the next page, which reserve their space. */
  ahead: readonly ImageRecord[];
  /** Total number of matches, if known; not `exact`: there are more. */
  total: { total: number; exact: boolean } | null;
  /** The filters as in the URL; empty: any. */
  query: { q: string; format: string; from: string; to: string };
  /** False on later pages. */
  isFirst: boolean;
  /** Cursor of the next page. */
  next: string | null;
}

/** Renders the public images, newest first, with filters that also work without a script. */
export function galleryPage(site: Site, gallery: GalleryPage): string {
  const { basePath } = gallery;
  const { words } = site;
  const path = `${basePath}/gallery`;
  return site.render({
    title: words.frame.nav.gallery,
    summary: words.gallery.summary,
    current: path,
    scripts: ['results.js', 'gallery.js'],
    content: html`<header class="page-head">
<h1>${words.frame.nav.gallery}</h1>
${filters(site, gallery, path)}
</header>
<div id="results">${results(site, gallery, path)}</div>`,
  });
}

function filters({ words: { gallery } }: Site, { query }: GalleryPage, path: string): Html {
  const choice = (value: string) =>
    html`<option value="${value}"${value === query.format && html` selected`}>${formatName(value)}</option>`;
  const isOpen = query.format !== '' || query.from !== '' || query.to !== '';
  return html`<form class="gallery-filters" role="search" action="${path}" data-results="results">
<p class="search"><label class="visually-hidden" for="q">${gallery.search}</label>
${icon('search')}<input id="q" type="search" name="q" value="${query.q}" maxlength="255" placeholder="${gallery.search}" autocomplete="off" enterkeyhint="search"></p>
<details${isOpen && html` open`}><summary>${icon('options')}${gallery.filters}</summary>
<div class="fields">
<p><label for="format">${gallery.format}</label> <select id="format" name="format"><option value="">${gallery.anyFormat}</option>${FORMATS.map(choice)}</select></p>
<p><label for="from">${gallery.from}</label> <input id="from" type="date" name="from" value="${query.from}"></p>
<p><label for="to">${gallery.to}</label> <input id="to" type="date" name="to" value="${query.to}"></p>
</div></details>
<noscript><button type="submit">${gallery.show}</button></noscript>
</form>`;
}

function results(site: Site, gallery: GalleryPage, path: string): Html {
  const { tiles, ahead, basePath, next, query, isFirst } = gallery;
  const { words } = site;
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
  const isFiltered = Object.keys(given).length > 0;
  const href = (cursor: string | null) => {
    const fields = new URLSearchParams({ ...given, ...(cursor !== null && { cursor }) }).toString();
    return fields === '' ? path : `${path}?${fields}`;
  };
  return html`<p class="muted" data-summary>${summaryOf(site, gallery, isFiltered)}${!isFirst && html` <a href="${href(null)}">${words.gallery.newest}</a>`}</p>
${tiles.length > 0 ? pictureRows(tiles, basePath) : nothing(site, gallery, isFiltered)}
${ahead.length > 0 && reservedRows(ahead, href(next))}
${next !== null && html`<p class="more"><a class="button quiet" rel="next" href="${href(next)}" data-more>${words.gallery.more}</a></p>`}`;
}

function summaryOf(
  { words: { gallery } }: Site,
  { total, query, tiles, next, isFirst }: GalleryPage,
  filtered: boolean,
) {
  if (total === null) return next === null && isFirst ? gallery.found(tiles.length) : gallery.newestFirst;
  if (!filtered) return gallery.pictures(total.total);
  return total.exact ? gallery.foundFor(total.total, query.q) : gallery.foundMore(total.total, query.q);
}

function nothing({ words: { gallery }, path }: Site, { next }: GalleryPage, filtered: boolean): Html {
  if (next !== null) return html`<p class="empty">${icon('search')}${gallery.noneYet}</p>`;
  if (filtered) return html`<p class="empty">${icon('search')}${gallery.none}</p>`;
  return html`<p class="empty">${icon('picture')}${gallery.empty} <a href="${path}/">${gallery.uploadFirst}</a></p>`;
}
