import { readableBytes } from '../../lib/format.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import { pagination } from '../../web/pagination.ts';
import type { Site } from '../../web/site.ts';
import { snippet } from '../../web/snippet.ts';
import type { ImageRecord } from '../image.ts';
import { pictureTile } from './picture-rows.ts';

/** One place of an album: a picture, one that needs its password first, or one with limited views. */
export type AlbumTile =
  | { kind: 'open'; image: ImageRecord }
  | { kind: 'locked'; id: string }
  | { kind: 'limited'; id: string; filename: string; viewsLeft: number };

interface AlbumPage {
  basePath: string;
  id: string;
  /** Empty if none was given. */
  title: string;
  /** The tiles of this page. */
  tiles: readonly AlbumTile[];
  total: number;
  /** Number of pictures that need a password. */
  locked: number;
  /** From 1. */
  page: number;
  pages: number;
  /** Contents of a ZIP file: number of pictures and their bytes. */
  download: { pictures: number; bytes: number };
  /** URL of the page. */
  url: string;
  /** Whether search engines may list it. */
  listed: boolean;
  /** A picture for previews that everyone with the link may see. */
  cover: { url: string; mediaType: string; width: number; height: number } | null;
}

/** Number of tiles that may be visible at once. */
const EAGER = 8;

/** The pictures of an album in their order. */
export function albumPage(site: Site, album: AlbumPage): string {
  const { words, formats } = site;
  const title = album.title || words.albums.untitled;
  const count = formats.plural(album.total, words.albums.pictures);
  const { download, basePath, id } = album;
  return site.render({
    title,
    head: preview(title, count, album),
    ...(album.listed && { summary: `${title}: ${count}` }),
    scripts: ['copy.js'],
    content: html`<header class="page-head">
<h1>${title}</h1>
${download.pictures > 0 && downloadButton(site, album)}
</header>
<div id="results">
<p class="muted">${count}</p>
${album.locked > 0 && html`<p class="muted">${formats.plural(album.locked, words.albums.locked)}</p>`}
${album.total === 0 ? html`<p class="empty">${icon('picture')}${words.albums.empty}</p>` : grid(site, album)}
${pagination(site, {
  page: album.page,
  pages: album.pages,
  href: (page) => `${basePath}/a/${id}?page=${page}`,
})}
</div>
<div class="album-link">
${snippet(site, 'copy-page', words.albums.link, album.url)}
</div>`,
  });
}

function downloadButton(
  { words: { albums }, formats }: Site,
  { basePath, id, total, download: { pictures, bytes } }: AlbumPage,
): Html {
  const label =
    pictures === total
      ? albums.downloadAll
      : albums.downloadSome(formats.number(pictures), formats.number(total));
  return html`<p class="actions"><a class="button" href="${basePath}/a/${id}.zip" rel="nofollow" download>${icon('download')}${label} (${readableBytes(bytes)})</a></p>`;
}

function grid(site: Site, { tiles, basePath }: AlbumPage): Html {
  if (tiles.length === 0) return html`<p class="empty">${site.words.albums.noSuchPage}</p>`;
  return html`<ul class="tiles">
${tiles.map((tile, index) =>
  tile.kind === 'open'
    ? pictureTile(tile.image, basePath, index < EAGER)
    : withoutPicture(site, tile, `${basePath}/i/${tile.id}`),
)}</ul>`;
}

/** Returns the placeholder of a picture that is not shown here. */
function withoutPicture(
  { words: { albums }, formats }: Site,
  tile: Exclude<AlbumTile, { kind: 'open' }>,
  path: string,
): Html {
  const isLocked = tile.kind === 'locked';
  return html`<li><a class="tile" href="${path}"${!isLocked && html` rel="nofollow"`}>
<span class="tile-blank">${icon(isLocked ? 'lock' : 'picture')}</span>
<span class="tile-name">${isLocked ? albums.lockedTile : tile.filename}</span>
<span class="tile-facts">${isLocked ? albums.lockedFacts : formats.plural(tile.viewsLeft, albums.viewsLeft)}</span>
</a></li>
`;
}

/** Returns what chats and forums show of a link to the album. */
function preview(title: string, count: string, { url, cover }: AlbumPage): Html {
  return html`<link rel="canonical" href="${url}">
<meta property="og:type" content="website">
<meta property="og:site_name" content="picpool">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${count}">
<meta property="og:url" content="${url}">
${
  cover &&
  html`<meta property="og:image" content="${cover.url}">
<meta property="og:image:type" content="${cover.mediaType}">
<meta property="og:image:width" content="${cover.width}">
<meta property="og:image:height" content="${cover.height}">
`
}<meta name="twitter:card" content="${cover ? 'summary_large_image' : 'summary'}">`;
}
