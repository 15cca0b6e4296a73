import { EXTENSIONS } from '../../codec/format.ts';
import { readableBytes } from '../../lib/format.ts';
import type { TakenWith } from '../../lib/taken-with.ts';
import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import { snippet } from '../../web/snippet.ts';
import { formatName } from '../../web/words/formats.ts';
import { altOf, type ImageRecord, NEVER, nameOf, VISIBILITIES, visibilityOf } from '../image.ts';
import { THUMBNAIL_WIDTHS } from '../records/blob-keys.ts';
import { linksOf, previewIn } from '../records/links.ts';
import { placeholderOf } from '../records/placeholder.ts';
import type { ImageLimits } from '../upload/quota.ts';
import { tellsPlace } from '../views.ts';
import { expiryOptions, linkPreview, pictureElement, type Shown } from './page-parts.ts';

/** What the page of an image shows. */
export interface ImagePage {
  image: ImageRecord;
  /** When the page is made, in ms since 1970: the clock of the browser may be wrong. */
  now: number;
  /** Scheme and host that browsers use. */
  origin: string;
  basePath: string;
  /** True if the visitor may delete it without a token. */
  deletable: boolean;
  /** What its uploader may choose. */
  limits: Pick<ImageLimits, 'listing' | 'retentionMs' | 'maxExpiryMs'>;
}

/** The neighbours of a public picture in the gallery, or of any in an album. */
export interface Neighbours {
  newer: ImageRecord | null;
  older: ImageRecord | null;
  /** Where it is shown as a picture of an album, whose order counts then. */
  album?: { id: string; title: string; path: string; unlisted: 0 | 1 };
}

/** Reports whether search engines may list the page: it links to the album. */
export function isListed(image: ImageRecord, album: Neighbours['album']): boolean {
  return visibilityOf(image) === 'public' && album?.unlisted !== 1;
}

/** Widths of the versions on a page: those offered that match common screens. */
const PAGE_WIDTHS = THUMBNAIL_WIDTHS.filter((width) => width >= 640);

/** Proportions of a picture that is shown in the width of its column, and scrolled. */
const TALL = 0.4;
const SCRIPTS = ['copy.js', 'image.js'];

const pathOf = ({ image, basePath }: ImagePage) => `${basePath}/i/${image.id}.${EXTENSIONS[image.format]}`;
const linksTo = ({ image, origin, basePath }: ImagePage) => linksOf(origin + basePath, image);

/** Renders the page of one image: the picture, its facts, and snippets to copy. */
export function imagePage(site: Site, page: ImagePage, beside: Neighbours): string {
  const { pictures } = site.words;
  const { width, height, frames, thumbhash } = page.image;
  const name = nameOf(page.image);
  const path = pathOf(page);
  const visibility = visibilityOf(page.image);
  const widths = frames === 1 ? PAGE_WIDTHS.filter((one) => one < width) : [];
  const shown = { path, width, height, placeholder: placeholderOf(thumbhash), widths };
  const content = html`<article class="picture-page">
<figure class="picture">
<a href="${path}" class="frame${width / height < TALL && ' tall'}" id="picture-shown" title="${pictures.fullSize}"><svg class="sizer" width="${width}" height="${height}" aria-hidden="true"></svg>${pictureElement(shown, { alt: altOf(page.image), sizes: sizesOf(shown), eager: true })}</a>
${neighbours(site, page, beside)}
</figure>
<div class="picture-side">
<h1 id="picture-name">${name}</h1>
${facts(site, page)}
${takenFold(site, page.image)}
${actions(
  site,
  page,
  html`<a class="button" href="${path}?download=1">${icon('download')}${pictures.download}</a>
`,
)}
${share(site, page)}
${managePanel(site, page)}
</div>
</article>`;
  return site.render({
    title: name,
    ...(isListed(page.image, beside.album) && { summary: pictures.summary(name, width, height) }),
    ...(visibility !== 'protected' && { head: previewOf(page) }),
    scripts: SCRIPTS,
    content,
  });
}

/** As wide as its place beside or above the facts, and no wider than its height allows (`images.css`). */
function sizesOf({ width, height }: Shown): string {
  if (width / height < TALL) return '(min-width: 60rem) min(40rem, 100vw - 27rem), min(40rem, 100vw - 2rem)';
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
    html`<a class="button quiet small" rel="${rel}" href="${album?.path ?? `${basePath}/i`}/${to.id}"${to.passwordHash === null && html` title="${nameOf(to)}"`}>${label}</a>`;
  return html`<nav class="neighbours" aria-label="${pictures.around}">${link(newer, 'prev', before)}<a class="button quiet small whole" href="${whole.path}">${whole.title}</a>${link(older, 'next', after)}</nav>`;
}

function share(site: Site, shared: ImagePage): Html {
  const { image } = shared;
  const { id, width, frames, expiresAt } = image;
  const links = linksTo(shared);
  const { pictures } = site.words;
  const page = snippet(site, 'copy-page', pictures.page, links.url);
  const direct = snippet(site, 'copy-direct', pictures.directLink, links.raw_url);
  const embeds = [
    snippet(site, 'copy-markdown', pictures.markdown, links.markdown),
    snippet(site, 'copy-html', pictures.html, links.html),
    snippet(site, 'copy-bbcode', pictures.bbcode, links.bbcode),
  ];
  const expiring =
    expiresAt !== null && expiresAt !== NEVER && html`<p class="small muted">${pictures.embedExpires}</p>`;
  const isProtected = visibilityOf(image) === 'protected';
  const shown = { id, filename: nameOf(image), ...links, width, frames, visibility: visibilityOf(image) };
  return html`<section id="picture-share" aria-labelledby="share">
<h2 id="share">${pictures.share}</h2>
<div class="needs-script" data-share="${JSON.stringify(shown)}"></div>
<div class="without-script">${page}${direct}${isProtected ? html`<p class="small muted">${pictures.embedProtected}</p>` : embeds}</div>${!isProtected && expiring}</section>`;
}

function facts({ words: { pictures }, formats }: Site, { image, now }: ImagePage): Html {
  const { width, height, frames, size, format, createdAt, expiresAt } = image;
  const visibility = visibilityOf(image);
  const time = (ms: number) =>
    html`<time datetime="${new Date(ms).toISOString()}">${formats.dateTime(ms)}</time>`;
  const isExposed = tellsPlace(image) && visibility === 'public';
  return html`<dl class="facts" id="picture-facts" data-now="${new Date(now).toISOString()}">
<div><dt>${pictures.dimensions}</dt><dd>${width} × ${height}</dd></div>
<div><dt>${pictures.fileSize}</dt><dd>${readableBytes(size)}</dd></div>
<div><dt>${pictures.format}</dt><dd>${formatName(format)}${frames > 1 && `, ${pictures.frames(frames)}`}</dd></div>
<div><dt>${pictures.uploaded}</dt><dd>${time(createdAt)}</dd></div>
<div><dt>${pictures.visibleTo}</dt><dd>${visibility === 'protected' && icon('lock')}${pictures.audiences[visibility]}${isExposed && html`<span class="small warned">${pictures.placeExposed}</span>`}</dd></div>
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
<summary>${icon('options')}${pictures.takenWith}</summary>
<dl class="facts">${known.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>
</details>`;
}

/** Returns `1/250 s`, `2.5 s`. */
function exposureText(seconds: number): string {
  return seconds < 0.3 ? `1/${Math.round(1 / seconds)} s` : `${Number(seconds.toFixed(1))} s`;
}

/** Returns what a visitor can do with an image: `first`, deletion and a report. */
function actions(
  { path, words: { pictures, reports } }: Site,
  { image, basePath, deletable }: ImagePage,
  first: Html | null = null,
): Html {
  const { id } = image;
  return html`<p class="actions">
${first}<a class="button quiet danger" href="${basePath}/i/${id}/delete" data-delete="${id}"${!deletable && html` hidden`}>${icon('trash')}${pictures.delete}</a> <a class="button quiet plain" rel="nofollow" href="${path}/report?image=${id}">${reports.report}</a></p>`;
}

/** Returns what chats and forums show of a link to the page. */
function previewOf(page: ImagePage): Html {
  const [title, base] = [nameOf(page.image), page.origin + page.basePath];
  const { url } = linksTo(page);
  const alt = altOf(page.image);
  return linkPreview({
    ...{ title, url, image: previewIn(page.image, base) },
    more: html`<link rel="alternate" type="application/json+oembed" href="${base}/oembed?url=${encodeURIComponent(url)}" title="${title}">
<meta property="og:image:alt" content="${alt}">
<meta name="twitter:image:alt" content="${alt}">`,
  });
}

/**
 * Renders the page of an image with limited views. It does not show the picture: opening a link, or previewing it,
 * must not use up a view by accident. Its button sends a POST, which no program that previews links does.
 */
export function limitedPage(site: Site, page: ImagePage, beside: Neighbours): string {
  const name = nameOf(page.image);
  const { viewsLeft } = page.image;
  const { pictures } = site.words;
  return site.render({
    title: name,
    scripts: SCRIPTS,
    content: html`<article class="picture-page">
<div class="notice-page">
<p class="notice-icon">${icon('picture')}</p>
<p>${pictures.viewsLeft(viewsLeft ?? 0)}</p>
<form method="post" action="${pathOf(page)}/view"><button type="submit">${pictures.showPicture}</button></form>
</div>
<div class="picture-side">
<h1 id="picture-name">${name}</h1>
${facts(site, page)}
${actions(site, page)}
${neighbours(site, page, beside)}
<section aria-labelledby="share">
<h2 id="share">${pictures.share}</h2>
${snippet(site, 'copy-page', pictures.page, linksTo(page).url)}</section>
${managePanel(site, page)}
</div>
</article>`,
  });
}

/** Returns what a script offers to the holder of the token: each field is saved when it is changed. */
function managePanel(site: Site, { image, limits }: ImagePage): Html {
  const { pictures, upload } = site.words;
  const { filename, title, alt, expiresAt, maxViews, viewsLeft } = image;
  const visibility = visibilityOf(image);
  const visibilities = VISIBILITIES.filter(
    (one) => one !== 'public' || (limits.listing !== 'off' && maxViews === null),
  );
  const until = expiresAt === NEVER ? pictures.never : site.formats.dateTime(expiresAt ?? 0);
  const field = (name: string, label: string, value: string, placeholder: string | null) =>
    html`<p><label for="edit-${name}">${label}</label><input id="edit-${name}" name="${name}" value="${value}" maxlength="255" autocomplete="off"${placeholder !== null && html` placeholder="${placeholder}"`}></p>
`;
  return html`<template id="manage"><details id="edit" class="edit card"><summary>${icon('options')}${pictures.edit}</summary>
<form class="stack">
${field('title', pictures.title, title ?? '', filename)}${field('alt', pictures.alt, alt ?? '', pictures.altHint)}${field('filename', pictures.filename, filename, null)}<p><label for="edit-visibility">${upload.whoSeesIt}</label><select id="edit-visibility" name="visibility">${visibilities.map((one) => html`<option value="${one}"${one === visibility && html` selected`}>${upload.seenBy[one]}</option>`)}</select></p>
<p class="password"><label for="edit-password">${visibility === 'protected' ? pictures.newPassword : pictures.password}</label><input id="edit-password" name="password" type="password" maxlength="256" autocomplete="new-password"></p>
<p><label for="edit-expires">${upload.expires}</label><select id="edit-expires" name="expires_in">${expiresAt !== null && html`<option value="" selected disabled>${until}</option>`}${expiryOptions(site, limits, 'none')}${limits.maxExpiryMs === Number.POSITIVE_INFINITY && html`<option value="never">${pictures.never}</option>`}</select></p>
${maxViews !== null && html`<p class="small">${pictures.viewsOf(viewsLeft ?? 0, maxViews)}</p>`}
<p class="small muted" role="status"></p>
</form></details></template>`;
}
