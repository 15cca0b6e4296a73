import { readableBytes } from '../lib/readable-bytes.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import type { Site } from './site.ts';
import { snippet } from './snippet.ts';

/** What the page of an image shows. */
export interface ImagePage {
  basePath: string;
  id: string;
  filename: string;
  extension: string;
  mediaType: string;
  width: number;
  height: number;
  frames: number;
  size: number;
  /** UTC. */
  created: string;
  /** Search engines get the public ones alone; previews of links get nothing of the protected ones. */
  visibility: 'public' | 'unlisted' | 'protected';
  /** When it expires: a time (UTC), `never`, or `null` where it goes when nobody opens it for long. */
  expires: string | null;
  /** True where the visitor may delete it without a token. */
  deletable: boolean;
  /** Shown once, to whom has just uploaded it. */
  deleteLink: string | null;
  /** What the picture has lost, shown with that link. */
  notes: readonly string[];
  links: { url: string; raw_url: string; markdown: string; html: string; bbcode: string };
  /** Where programs ask for what to embed. */
  oembed: string;
}

/** The page of one image: the picture, its facts, and snippets to copy. */
export function imagePage(site: Site, image: ImagePage): string {
  const { basePath, id, filename, extension, width, height, links } = image;
  const path = `${basePath}/i/${id}.${extension}`;
  const content = html`${image.deleteLink !== null && created(site, image.deleteLink, image.notes)}<article class="picture-page">
<figure class="picture">
<a href="${path}"><img src="${path}" width="${width}" height="${height}" alt="${filename}"></a>
</figure>
<div class="picture-side">
<h1>${filename}</h1>
${facts(image)}
${actions(
  image,
  html`<a class="button" href="${path}?download=1">${icon('download')}Download</a>
`,
)}
<section aria-labelledby="share">
<h2 id="share">Share</h2>
${[
  snippet(site, 'copy-page', 'Page', links.url),
  snippet(site, 'copy-direct', 'Direct link', links.raw_url),
  snippet(site, 'copy-markdown', 'Markdown', links.markdown),
  snippet(site, 'copy-html', 'HTML', links.html),
  snippet(site, 'copy-bbcode', 'BBCode', links.bbcode),
]}</section>
</div>
</article>`;
  return site.render({
    title: filename,
    ...(image.visibility === 'public' && { summary: `${filename}, ${width} × ${height} pixels.` }),
    ...(image.visibility !== 'protected' && { head: preview(image) }),
    scripts: ['copy.js', 'image.js'],
    content,
  });
}

const SEEN_BY: Record<ImagePage['visibility'], string> = {
  public: 'everybody',
  unlisted: 'who has the link',
  protected: 'who knows the password',
};

/** What is known of it, as a list. */
export function facts({ width, height, frames, size, extension, created, ...image }: ImagePage): Html {
  return html`<dl class="facts">
<div><dt>Dimensions</dt><dd>${width} × ${height}</dd></div>
<div><dt>Size</dt><dd>${readableBytes(size)}</dd></div>
<div><dt>Format</dt><dd>${extension}${frames > 1 && `, ${frames} frames`}</dd></div>
<div><dt>Uploaded</dt><dd><time datetime="${created.replace(' ', 'T')}Z">${created.slice(0, 16)}</time></dd></div>
<div><dt>Seen by</dt><dd>${image.visibility === 'protected' && icon('lock')}${SEEN_BY[image.visibility]}</dd></div>
${image.expires !== null && html`<div><dt>Expires</dt><dd>${image.expires === 'never' ? 'never' : html`<time datetime="${image.expires.replace(' ', 'T')}Z">${image.expires.slice(0, 16)}</time>`}</dd></div>`}
</dl>`;
}

/** Tells who has just uploaded it, once, how to delete it, and what of it was lost. */
export function created(site: Site, deleteLink: string, notes: readonly string[]): Html {
  return html`<section class="banner good" aria-labelledby="created">
<h2 id="created">${icon('check')}Your picture is online</h2>
${notes.map((note) => html`<p>${note}</p>`)}
<p>Keep this link if you may want to delete it from somewhere else. It is shown only this once.</p>
${snippet(site, 'copy-delete', 'Delete link', deleteLink)}
</section>`;
}

/** What chats and forums show of a link to the page: OpenGraph, Twitter card, oEmbed. */
function preview({ filename, mediaType, width, height, links, oembed }: ImagePage): Html {
  return html`<link rel="canonical" href="${links.url}">
<link rel="alternate" type="application/json+oembed" href="${oembed}?url=${encodeURIComponent(links.url)}" title="${filename}">
<meta property="og:type" content="website">
<meta property="og:site_name" content="picpool">
<meta property="og:title" content="${filename}">
<meta property="og:url" content="${links.url}">
<meta property="og:image" content="${links.raw_url}">
<meta property="og:image:type" content="${mediaType}">
<meta property="og:image:width" content="${width}">
<meta property="og:image:height" content="${height}">
<meta property="og:image:alt" content="${filename}">
<meta name="twitter:card" content="summary_large_image">
<meta name="twitter:title" content="${filename}">
<meta name="twitter:image" content="${links.raw_url}">
<meta name="twitter:image:alt" content="${filename}">`;
}

/** What a visitor may do with an image: what stands first, deletion, and locking a protected one again. */
export function actions({ basePath, id, deletable, visibility }: ImagePage, first: Html | null = null): Html {
  const isProtected = visibility === 'protected';
  return html`<p class="actions">
${first}<a class="button quiet danger" href="${basePath}/i/${id}/delete" data-delete="${id}"${!deletable && html` hidden`}>${icon('trash')}Delete</a>${
    isProtected &&
    html`
<button class="quiet" form="lock">${icon('lock')}Lock again</button>`
  }
</p>
${isProtected && html`<form id="lock" method="post" action="${basePath}/i/${id}/lock"></form>`}`;
}
