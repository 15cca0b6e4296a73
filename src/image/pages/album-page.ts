import { readableBytes } from '../../lib/format.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import { pagination, snippet } from '../../web/snippet.ts';
import type { AlbumRecord } from '../albums/album.ts';
import { albumUrl } from '../albums/views.ts';
import { type ImageRecord, nameOf } from '../image.ts';
import { previewIn } from '../records/links.ts';
import { linkPreview } from './page-parts.ts';
import { pictureTile } from './picture-rows.ts';

/** An album as one visitor sees it. */
interface AlbumView {
  /** Scheme, host and base path. */
  base: string;
  basePath: string;
  album: Pick<AlbumRecord, 'id' | 'title' | 'cover'>;
  pictures: readonly ImageRecord[];
  /** From 1. */
  page: number;
  /** Whether the visitor has yet to enter the password of a picture. */
  isLocked: (image: ImageRecord) => boolean;
  /** Whether the page and the ZIP file leave a picture out. */
  isHidden: (image: ImageRecord) => boolean;
  /** Whether search engines may list it. */
  isListed: boolean;
}

/** Fills the rows of a grid of 2, 3, 4 and 6 columns. */
const PER_PAGE = 48;
/** Number of tiles that may be visible at once. */
const EAGER = 8;

/** The pictures of an album in their order. */
export function albumPage(site: Site, view: AlbumView): string {
  const { words, formats } = site;
  const { base, basePath, album, pictures, page, isListed } = view;
  const title = album.title || words.albums.untitled;
  const count = formats.plural(pictures.length, words.albums.pictures);
  const locked = pictures.filter(view.isLocked).length;
  const url = albumUrl(base, album.id);
  return site.render({
    title,
    head: linkPreview({
      ...{ title, url, image: coverOf(base, album, pictures) },
      more: html`<meta property="og:description" content="${count}">`,
    }),
    ...(isListed && { summary: `${title}: ${count}` }),
    scripts: ['copy.js', 'album-edit.js'],
    content: html`<header class="page-head">
<h1>${title}</h1>
<div class="actions" id="album-actions">
${downloadButton(site, view)}</div>
</header>
<div id="album-tools" data-album="${album.id}" data-api="${basePath}/api/albums/${album.id}" data-home="${site.path}/" hidden></div>
<div id="results">
<p class="muted">${count}</p>
${locked > 0 && html`<p class="muted">${formats.plural(locked, words.albums.locked)}</p>`}
${pictures.length === 0 ? html`<p class="empty">${icon('picture')}${words.albums.empty}</p>` : grid(site, view)}
${pagination(site, {
  page,
  pages: Math.ceil(pictures.length / PER_PAGE),
  href: (to) => `${basePath}/a/${album.id}?page=${to}`,
})}
</div>
<div class="album-link">
${snippet(site, 'copy-page', words.albums.link, url)}
<p class="actions"><a class="button quiet plain" rel="nofollow" href="${site.path}/report?album=${album.id}">${words.reports.report}</a></p>
</div>`,
  });
}

function downloadButton({ words: { albums }, formats }: Site, view: AlbumView): Html | null {
  const { basePath, album, pictures, isHidden } = view;
  const shown = pictures.filter((image) => !isHidden(image));
  if (shown.length === 0) return null;
  const label =
    shown.length === pictures.length
      ? albums.downloadAll
      : albums.downloadSome(formats.number(shown.length), formats.number(pictures.length));
  const bytes = shown.reduce((sum, { size }) => sum + size, 0);
  return html`<a class="button" href="${basePath}/a/${album.id}.zip" rel="nofollow" download>${icon('download')}${label} (${readableBytes(bytes)})</a>
`;
}

function grid(site: Site, { album, pictures, page, basePath, isLocked, isHidden }: AlbumView): Html {
  const tiles = pictures.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  if (tiles.length === 0) return html`<p class="empty">${site.words.albums.noSuchPage}</p>`;
  const pathOf = (id: string) => `${basePath}/a/${album.id}/${id}`;
  return html`<ul class="tiles">
${tiles.map((image, index) =>
  isHidden(image)
    ? withoutPicture(site, image, isLocked(image), pathOf(image.id))
    : pictureTile(image, basePath, index < EAGER, pathOf(image.id)),
)}</ul>`;
}

/** Returns the placeholder of a picture that is not shown here. */
function withoutPicture(
  { words: { albums }, formats }: Site,
  image: ImageRecord,
  isLocked: boolean,
  path: string,
): Html {
  return html`<li><a class="tile" href="${path}"${!isLocked && html` rel="nofollow"`}>
<span class="tile-blank">${icon(isLocked ? 'lock' : 'picture')}</span>
<span class="tile-name">${isLocked ? albums.lockedTile : nameOf(image)}</span>
<span class="tile-facts">${isLocked ? albums.lockedFacts : formats.plural(image.viewsLeft ?? 0, albums.viewsLeft)}</span>
</a></li>
`;
}

/**
 * Returns the cover or, if not anyone with the link can see it, the first picture that they can, regardless of what
 * this visitor has unlocked.
 */
function coverOf(base: string, { cover }: Pick<AlbumRecord, 'cover'>, pictures: readonly ImageRecord[]) {
  const open = pictures.filter(({ passwordHash, maxViews }) => passwordHash === null && maxViews === null);
  const image = open.find(({ id }) => id === cover) ?? open[0];
  return image ? previewIn(image, base) : null;
}
