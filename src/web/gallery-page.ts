import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { pagination } from './pagination.ts';
import type { Site } from './site.ts';
import { counted } from './words.ts';

/** One picture in a grid. */
export interface Tile {
  id: string;
  extension: string;
  filename: string;
  width: number;
  height: number;
  frames: number;
}

export interface GalleryPage {
  basePath: string;
  tiles: readonly Tile[];
  total: number;
  /** False where there are more than `total`. */
  exact: boolean;
  /** From 1. */
  page: number;
  pages: number;
  /** What is searched for; empty: everything. */
  text: string;
}

/** The public images, newest first, with a search that also works without a script. */
export function galleryPage(site: Site, gallery: GalleryPage): string {
  const { basePath, text } = gallery;
  const path = `${basePath}/gallery`;
  return site.render({
    title: 'Gallery',
    summary: 'Public pictures on this server, newest first.',
    current: path,
    scripts: ['results.js'],
    content: html`<header class="page-head">
<h1>Gallery</h1>
<form class="search" role="search" action="${path}" data-results="results">
<label class="visually-hidden" for="q">Search by name, id or format</label>
${icon('search')}<input id="q" type="search" name="q" value="${text}" maxlength="255" placeholder="Search by name, id or format" autocomplete="off" enterkeyhint="search">
<noscript><button type="submit">Search</button></noscript>
</form>
</header>
<div id="results">${results(site, gallery, path)}</div>`,
  });
}

function results(
  site: Site,
  { tiles, total, exact, page, pages, text, basePath }: GalleryPage,
  path: string,
): Html {
  const query = (number: number) =>
    `${path}?${new URLSearchParams({ ...(text && { q: text }), page: String(number) })}`;
  const found =
    text === ''
      ? counted(total, 'public picture')
      : `${exact ? '' : 'More than '}${counted(total, 'picture')} for “${text}”`;
  return html`<p class="muted" data-summary>${found}</p>
${tiles.length > 0 ? tileGrid(tiles, basePath, 'above') : nothing(text, total, site.path)}
${pagination(site, { page, pages, href: query })}`;
}

function nothing(text: string, total: number, home: string): Html {
  if (total > 0) return html`<p class="empty">There are not so many pages.</p>`;
  if (text !== '')
    return html`<p class="empty">${icon('search')}No picture has this in its name, id or format.</p>`;
  return html`<p class="empty">${icon('picture')}No public pictures yet. <a href="${home}/">Upload the first one.</a></p>`;
}

/** Thumbnails of equal size, so that nothing moves while they load. `fold`: where the grid begins on the screen. */
export function tileGrid(tiles: readonly Tile[], basePath: string, fold: 'above' | 'below'): Html {
  return html`<ul class="tiles">
${tiles.map((tile, index) => pictureTile(tile, basePath, fold === 'above' && index < 8))}</ul>`;
}

/** A picture in small, which leads to its page. `eager`: it is on the screen at once. */
export function pictureTile(
  { id, extension, filename, width, height, frames }: Tile,
  basePath: string,
  eager: boolean,
): Html {
  const path = `${basePath}/i/${id}`;
  const file = `${path}.${extension}`;
  return html`<li><a class="tile" href="${path}">
<img src="${file}?w=320" srcset="${file}?w=320 320w, ${file}?w=640 640w" sizes="(min-width: 40rem) 15rem, 45vw" width="${width}" height="${height}" alt=""${!eager && html` loading="lazy"`} decoding="async">
<span class="tile-name">${filename}</span>
<span class="tile-facts">${width} × ${height}${frames > 1 && ' · animated'}</span>
</a></li>
`;
}
