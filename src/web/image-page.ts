import { readableBytes } from '../lib/readable-bytes.ts';
import type { TakenWith } from '../lib/taken-with.ts';
import { formatName } from './format-name.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { linkPreview } from './link-preview.ts';
import { pictureElement, type Shown } from './picture.ts';
import type { Site } from './site.ts';
import { snippet } from './snippet.ts';

/** The previous or next picture. */
interface Neighbour {
  id: string;
  filename: string;
}

/** What the page of an image shows. */
export interface ImagePage extends Shown {
  basePath: string;
  id: string;
  filename: string;
  format: string;
  mediaType: string;
  frames: number;
  size: number;
  /** Ms since 1970. */
  createdAt: number;
  /** Search engines may only index public pictures; link previews show nothing of protected ones. */
  visibility: 'public' | 'unlisted' | 'protected';
  /** When it expires, in ms since 1970; `null` if it is removed after a long time without views. */
  expires: number | 'never' | null;
  /** What its file still says about that; `null` if nothing. */
  taken: TakenWith | null;
  /** True if the visitor may delete it without a token. */
  deletable: boolean;
  /** Shown once, to the uploader. */
  deleteLink: string | null;
  /** True if its views are limited. */
  limited: boolean;
  /** What the picture has lost, shown with that link. */
  notes: readonly string[];
  links: { url: string; raw_url: string; markdown: string; html: string; bbcode: string };
  /** URL of the oEmbed answer. */
  oembed: string;
  /** The neighbours of a public picture in the gallery. */
  newer: Neighbour | null;
  older: Neighbour | null;
}

/** Renders the page of one image: the picture, its facts, and snippets to copy. */
export function imagePage(site: Site, image: ImagePage): string {
  const { pictures } = site.words;
  const { filename, path, width, height, visibility } = image;
  const content = html`${created(site, image)}<article class="picture-page">
<figure class="picture">
<a href="${path}" class="frame" data-zoom="${pictures.fullSize}"><svg class="sizer" width="${width}" height="${height}" aria-hidden="true"></svg>${pictureElement(image, { alt: filename, sizes: sizesOf(image), eager: true })}</a>
${neighbours(site, image)}
</figure>
<div class="picture-side">
<h1>${filename}</h1>
${facts(site, image)}
${takenFold(site, image)}
${actions(
  site,
  image,
  html`<a class="button" href="${path}?download=1">${icon('download')}${pictures.download}</a>
`,
)}
${share(site, image)}
</div>
</article>`;
  return site.render({
    title: filename,
    ...(visibility === 'public' && { summary: pictures.summary(filename, width, height) }),
    ...(visibility !== 'protected' && { head: linkPreview(image) }),
    scripts: ['copy.js', 'image.js'],
    content,
  });
}

/** As wide as its place beside or above the facts, and no wider than its height allows (`images.css`). */
function sizesOf({ width, height }: Shown): string {
  const byHeight = `calc(78vh * ${(width / height).toFixed(3)})`;
  return `(min-width: 60rem) min(52rem, 100vw - 27rem, ${byHeight}), min(100vw - 2rem, ${byHeight})`;
}

function neighbours({ words: { pictures, frame } }: Site, { basePath, visibility, newer, older }: ImagePage) {
  if (visibility !== 'public') return null;
  const link = (to: Neighbour | null, rel: 'prev' | 'next', label: string) =>
    to &&
    html`<a class="button quiet small" rel="${rel}" href="${basePath}/i/${to.id}" title="${to.filename}">${label}</a>`;
  return html`<nav class="neighbours" aria-label="${pictures.around}">${link(newer, 'prev', pictures.newer)}<a class="button quiet small" href="${basePath}/gallery">${frame.nav.gallery}</a>${link(older, 'next', pictures.older)}</nav>`;
}

function share(site: Site, { links, visibility, expires }: ImagePage): Html {
  const { pictures } = site.words;
  const page = snippet(site, 'copy-page', pictures.page, links.url);
  const direct = snippet(site, 'copy-direct', pictures.directLink, links.raw_url);
  const embeds = [
    snippet(site, 'copy-markdown', pictures.markdown, links.markdown),
    snippet(site, 'copy-html', pictures.html, links.html),
    snippet(site, 'copy-bbcode', pictures.bbcode, links.bbcode),
  ];
  const expiring = typeof expires === 'number' && html`<p class="small muted">${pictures.embedExpires}</p>`;
  const isProtected = visibility === 'protected';
  return html`<section aria-labelledby="share">
<h2 id="share">${pictures.share}</h2>
${page}${direct}${isProtected ? html`<p class="small muted">${pictures.embedProtected}</p>` : embeds}${!isProtected && expiring}</section>`;
}

/** Returns the facts as a list. */
export function facts({ words: { pictures }, formats }: Site, image: ImagePage): Html {
  const { width, height, frames, size, format, createdAt, expires, visibility } = image;
  const time = (ms: number) =>
    html`<time datetime="${new Date(ms).toISOString()}">${formats.dateTime(ms)}</time>`;
  return html`<dl class="facts">
<div><dt>${pictures.dimensions}</dt><dd>${width} × ${height}</dd></div>
<div><dt>${pictures.fileSize}</dt><dd>${readableBytes(size)}</dd></div>
<div><dt>${pictures.format}</dt><dd>${formatName(format)}${frames > 1 && `, ${pictures.frames(frames)}`}</dd></div>
<div><dt>${pictures.uploaded}</dt><dd>${time(createdAt)}</dd></div>
<div><dt>${pictures.visibleTo}</dt><dd>${visibility === 'protected' && icon('lock')}${pictures.audiences[visibility]}</dd></div>
${expires !== null && html`<div><dt>${pictures.expires}</dt><dd>${expires === 'never' ? pictures.never : time(expires)}</dd></div>`}
</dl>`;
}

/** Returns what its EXIF says, folded. */
function takenFold({ words: { pictures }, formats }: Site, { taken }: ImagePage): Html | null {
  if (taken === null) return null;
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
export function created(site: Site, image: ImagePage): Html | null {
  const { id, filename, links, visibility, expires, deleteLink, notes, limited } = image;
  if (deleteLink === null) return null;
  const { pictures } = site.words;
  const mine = {
    id,
    filename,
    url: links.url,
    raw_url: links.raw_url,
    protected: visibility === 'protected' || limited,
    delete_token: new URL(deleteLink).searchParams.get('token'),
    expires_at: typeof expires === 'number' ? new Date(expires).toISOString() : null,
  };
  return html`<section class="banner good" aria-labelledby="created" data-mine="${JSON.stringify(mine)}">
<h2 id="created">${icon('check')}${pictures.online}</h2>
${notes.map((note) => html`<p>${note}</p>`)}
<p>${pictures.keepDeleteLink}</p>
${snippet(site, 'copy-delete', pictures.deleteLink, deleteLink)}
</section>`;
}

/** Returns what a visitor can do with an image: `first`, deletion, and locking it again. */
export function actions(
  { words: { pictures } }: Site,
  { basePath, id, deletable, visibility }: ImagePage,
  first: Html | null = null,
): Html {
  const isProtected = visibility === 'protected';
  return html`<p class="actions">
${first}<a class="button quiet danger" href="${basePath}/i/${id}/delete" data-delete="${id}"${!deletable && html` hidden`}>${icon('trash')}${pictures.delete}</a>${
    isProtected &&
    html`
<button class="quiet" form="lock">${icon('lock')}${pictures.lockAgain}</button>`
  }
</p>
${isProtected && html`<form id="lock" method="post" action="${basePath}/i/${id}/lock"></form>`}`;
}
