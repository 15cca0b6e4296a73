import { EXTENSIONS } from '../../codec/format.ts';
import { readableBytes } from '../../lib/format.ts';
import type { TakenWith } from '../../lib/taken-with.ts';
import { formatName } from '../../web/format-name.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import { snippet } from '../../web/snippet.ts';
import { type ImageRecord, NEVER, visibilityOf } from '../image.ts';
import { THUMBNAIL_WIDTHS } from '../records/blob-keys.ts';
import { linksOf, previewIn } from '../records/links.ts';
import { placeholderOf } from '../records/placeholder.ts';
import { pictureElement, type Shown } from './page-parts.ts';

/** What the page of an image shows. */
export interface ImagePage {
  image: ImageRecord;
  /** Scheme and host that browsers use. */
  origin: string;
  basePath: string;
  /** True if the visitor may delete it without a token. */
  deletable: boolean;
  /** Shown once, to the uploader. */
  deleteLink: string | null;
  /** What the picture has lost, shown with that link. */
  notes: readonly string[];
}

/** The neighbours of a public picture in the gallery, or of any in an album. */
export interface Neighbours {
  newer: ImageRecord | null;
  older: ImageRecord | null;
  /** Where it is shown as a picture of an album, whose order counts then. */
  album?: { title: string; path: string };
}

/** Widths of the versions on a page: those offered that match common screens. */
const PAGE_WIDTHS = THUMBNAIL_WIDTHS.filter((width) => width >= 640);

const pathOf = ({ image, basePath }: ImagePage) => `${basePath}/i/${image.id}.${EXTENSIONS[image.format]}`;
const linksTo = ({ image, origin, basePath }: ImagePage) => linksOf(origin + basePath, image);

/** Renders the page of one image: the picture, its facts, and snippets to copy. */
export function imagePage(site: Site, page: ImagePage, beside: Neighbours): string {
  const { pictures } = site.words;
  const { filename, width, height, frames, thumbhash } = page.image;
  const path = pathOf(page);
  const visibility = visibilityOf(page.image);
  const widths = frames === 1 ? PAGE_WIDTHS.filter((one) => one < width) : [];
  const shown = { path, width, height, placeholder: placeholderOf(thumbhash), widths };
  const content = html`${created(site, page)}<article class="picture-page">
<figure class="picture">
<a href="${path}" class="frame" data-zoom="${pictures.fullSize}"><svg class="sizer" width="${width}" height="${height}" aria-hidden="true"></svg>${pictureElement(shown, { alt: filename, sizes: sizesOf(shown), eager: true })}</a>
${neighbours(site, page, beside)}
</figure>
<div class="picture-side">
<h1>${filename}</h1>
${facts(site, page.image)}
${takenFold(site, page.image)}
${actions(
  site,
  page,
  html`<a class="button" href="${path}?download=1">${icon('download')}${pictures.download}</a>
`,
)}
${share(site, page)}
</div>
</article>`;
  return site.render({
    title: filename,
    ...(visibility === 'public' && { summary: pictures.summary(filename, width, height) }),
    ...(visibility !== 'protected' && { head: linkPreview(page) }),
    scripts: ['copy.js', 'image.js'],
    content,
  });
}

/** As wide as its place beside or above the facts, and no wider than its height allows (`images.css`). */
function sizesOf({ width, height }: Shown): string {
  const byHeight = `calc(78vh * ${(width / height).toFixed(3)})`;
  return `(min-width: 60rem) min(52rem, 100vw - 27rem, ${byHeight}), min(100vw - 2rem, ${byHeight})`;
}

function neighbours(
  { words: { pictures, frame } }: Site,
  { image, basePath }: ImagePage,
  { newer, older, album }: Neighbours,
) {
  if (album === undefined && visibilityOf(image) !== 'public') return null;
  const [whole, before, after] = album
    ? [album, frame.previous, frame.next]
    : [{ title: frame.nav.gallery, path: `${basePath}/gallery` }, pictures.newer, pictures.older];
  const link = (to: ImageRecord | null, rel: 'prev' | 'next', label: string) =>
    to &&
    html`<a class="button quiet small" rel="${rel}" href="${album?.path ?? `${basePath}/i`}/${to.id}" title="${to.filename}">${label}</a>`;
  return html`<nav class="neighbours" aria-label="${pictures.around}">${link(newer, 'prev', before)}<a class="button quiet small whole" href="${whole.path}">${whole.title}</a>${link(older, 'next', after)}</nav>`;
}

function share(site: Site, shared: ImagePage): Html {
  const { image } = shared;
  const links = linksTo(shared);
  const { pictures } = site.words;
  const page = snippet(site, 'copy-page', pictures.page, links.url);
  const direct = snippet(site, 'copy-direct', pictures.directLink, links.raw_url);
  const embeds = [
    snippet(site, 'copy-markdown', pictures.markdown, links.markdown),
    snippet(site, 'copy-html', pictures.html, links.html),
    snippet(site, 'copy-bbcode', pictures.bbcode, links.bbcode),
  ];
  const expiring = expiresOf(image) !== null && html`<p class="small muted">${pictures.embedExpires}</p>`;
  const isProtected = visibilityOf(image) === 'protected';
  return html`<section aria-labelledby="share">
<h2 id="share">${pictures.share}</h2>
${page}${direct}${isProtected ? html`<p class="small muted">${pictures.embedProtected}</p>` : embeds}${!isProtected && expiring}</section>`;
}

/** Returns the facts as a list. */
function facts({ words: { pictures }, formats }: Site, image: ImageRecord): Html {
  const { width, height, frames, size, format, createdAt, expiresAt } = image;
  const visibility = visibilityOf(image);
  const time = (ms: number) =>
    html`<time datetime="${new Date(ms).toISOString()}">${formats.dateTime(ms)}</time>`;
  return html`<dl class="facts">
<div><dt>${pictures.dimensions}</dt><dd>${width} × ${height}</dd></div>
<div><dt>${pictures.fileSize}</dt><dd>${readableBytes(size)}</dd></div>
<div><dt>${pictures.format}</dt><dd>${formatName(format)}${frames > 1 && `, ${pictures.frames(frames)}`}</dd></div>
<div><dt>${pictures.uploaded}</dt><dd>${time(createdAt)}</dd></div>
<div><dt>${pictures.visibleTo}</dt><dd>${visibility === 'protected' && icon('lock')}${pictures.audiences[visibility]}</dd></div>
${expiresAt !== null && html`<div><dt>${pictures.expires}</dt><dd>${expiresAt === NEVER ? pictures.never : time(expiresAt)}</dd></div>`}
</dl>`;
}

/** Returns what its EXIF says, folded. */
function takenFold({ words: { pictures }, formats }: Site, { exif }: ImageRecord): Html | null {
  if (exif === null) return null;
  const taken = JSON.parse(exif) as TakenWith;
  const { camera, lens, exposure, aperture, iso, focalLength, place } = taken;
  const rows: [label: string, value: string | number | undefined][] = [
    [pictures.camera, camera],
    [pictures.lens, lens],
    [pictures.exposure, exposure && exposureText(exposure)],
    [pictures.aperture, aperture && `f/${aperture}`],
    [pictures.iso, iso],
    [pictures.focalLength, focalLength && `${focalLength} mm`],
    [pictures.taken, taken.taken && formats.dateTime(Date.parse(`${taken.taken}Z`))],
    [pictures.place, place && pictures.placeKept],
  ];
  const known = rows.filter(([, value]) => value !== undefined);
  return html`<details class="taken">
<summary>${pictures.takenWith}</summary>
<dl class="facts">${known.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>
</details>`;
}

/** Returns `1/250 s`, `2.5 s`. */
function exposureText(seconds: number): string {
  return seconds < 0.3 ? `1/${Math.round(1 / seconds)} s` : `${Number(seconds.toFixed(1))} s`;
}

/**
 * Tells the uploader once how to delete the picture, and what it has lost. A script adds it to the browser's list.
 */
function created(site: Site, page: ImagePage): Html | null {
  const { image, deleteLink, notes } = page;
  if (deleteLink === null) return null;
  const { id, filename, maxViews } = image;
  const links = linksTo(page);
  const expires = expiresOf(image);
  const { pictures } = site.words;
  const mine = {
    id,
    filename,
    url: links.url,
    raw_url: links.raw_url,
    protected: visibilityOf(image) === 'protected' || maxViews !== null,
    delete_token: new URL(deleteLink).searchParams.get('token'),
    expires_at: expires === null ? null : new Date(expires).toISOString(),
  };
  return html`<section class="banner good" aria-labelledby="created" data-mine="${JSON.stringify(mine)}">
<h2 id="created">${icon('check')}${pictures.online}</h2>
${notes.map((note) => html`<p>${note}</p>`)}
<p>${pictures.keepDeleteLink}</p>
${snippet(site, 'copy-delete', pictures.deleteLink, deleteLink)}
</section>`;
}

/** Returns what a visitor can do with an image: `first`, deletion, and locking it again. */
function actions(
  { words: { pictures } }: Site,
  { image, basePath, deletable }: ImagePage,
  first: Html | null = null,
): Html {
  const { id } = image;
  const isProtected = visibilityOf(image) === 'protected';
  return html`<p class="actions">
${first}<a class="button quiet danger" href="${basePath}/i/${id}/delete" data-delete="${id}"${!deletable && html` hidden`}>${icon('trash')}${pictures.delete}</a>${
    isProtected &&
    html`
<button class="quiet" form="lock">${icon('lock')}${pictures.lockAgain}</button>`
  }
</p>
${isProtected && html`<form id="lock" method="post" action="${basePath}/i/${id}/lock"></form>`}`;
}

/** Returns what chats and forums show of a link to the page: OpenGraph, Twitter card, oEmbed. */
function linkPreview(page: ImagePage): Html {
  const { filename } = page.image;
  const links = linksTo(page);
  const { url, mediaType, width, height } = previewIn(page.image, page.origin + page.basePath);
  return html`<link rel="canonical" href="${links.url}">
<link rel="alternate" type="application/json+oembed" href="${page.origin}${page.basePath}/oembed?url=${encodeURIComponent(links.url)}" title="${filename}">
<meta property="og:type" content="website">
<meta property="og:site_name" content="picpool">
<meta property="og:title" content="${filename}">
<meta property="og:url" content="${links.url}">
<meta property="og:image" content="${url}">
<meta property="og:image:type" content="${mediaType}">
<meta property="og:image:width" content="${width}">
<meta property="og:image:height" content="${height}">
<meta property="og:image:alt" content="${filename}">
<meta name="twitter:card" content="summary_large_image">
<meta name="twitter:title" content="${filename}">
<meta name="twitter:image" content="${url}">
<meta name="twitter:image:alt" content="${filename}">`;
}

/**
 * Renders the page of an image with limited views. It does not show the picture: opening a link, or previewing it,
 * must not use up a view by accident. Its button sends a POST, which no program that previews links does.
 */
export function limitedPage(site: Site, page: ImagePage, beside: Neighbours): string {
  const { filename, viewsLeft } = page.image;
  const { pictures } = site.words;
  return site.render({
    title: filename,
    scripts: ['copy.js', 'image.js'],
    content: html`${created(site, page)}<article class="picture-page">
<div class="notice-page">
<p class="notice-icon">${icon('picture')}</p>
<p>${pictures.viewsLeft(viewsLeft ?? 0)}</p>
<form method="post" action="${pathOf(page)}/view"><button type="submit">${pictures.showPicture}</button></form>
</div>
<div class="picture-side">
<h1>${filename}</h1>
${facts(site, page.image)}
${actions(site, page)}
${neighbours(site, page, beside)}
<section aria-labelledby="share">
<h2 id="share">${pictures.share}</h2>
${snippet(site, 'copy-page', pictures.page, linksTo(page).url)}</section>
</div>
</article>`,
  });
}

/** Returns when it expires, in ms since 1970; `null` if nobody has said when, or never. */
function expiresOf({ expiresAt }: ImageRecord): number | null {
  return expiresAt === NEVER ? null : expiresAt;
}
