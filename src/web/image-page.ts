import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

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
  /** True: search engines and link previews get nothing. */
  protected: boolean;
  links: { url: string; raw_url: string; markdown: string; html: string; bbcode: string };
}

/** The page of one image: the picture, its facts, and snippets to copy. */
export function imagePage(image: ImagePage): string {
  const { basePath, id, filename, extension, width, height, frames, size, created, links } = image;
  const path = `${basePath}/i/${id}.${extension}`;
  const content = html`<figure>
<a href="${path}"><img src="${path}" width="${width}" height="${height}" alt="${filename}"></a>
<figcaption><h1>${filename}</h1></figcaption>
</figure>
<dl>
<div><dt>Dimensions</dt><dd>${width} × ${height} pixels</dd></div>
<div><dt>Size</dt><dd>${readableBytes(size)}</dd></div>
<div><dt>Format</dt><dd>${extension}${frames > 1 && `, ${frames} frames`}</dd></div>
<div><dt>Uploaded</dt><dd><time datetime="${created.replace(' ', 'T')}Z">${created} UTC</time></dd></div>
</dl>
<section aria-label="Links">
${[
  snippet('Page', links.url),
  snippet('Direct link', links.raw_url),
  snippet('Markdown', links.markdown),
  snippet('HTML', links.html),
  snippet('BBCode', links.bbcode),
]}
</section>
<p><a class="button" href="${path}?download=1">Download</a></p>`;
  return layout({ title: filename, basePath, head: image.protected ? noIndex : preview(image), content });
}

const noIndex = html`<meta name="robots" content="noindex">`;

/** What chats and forums show of a link to the page: OpenGraph and Twitter card. */
function preview({ filename, mediaType, width, height, links }: ImagePage): Html {
  return html`<link rel="canonical" href="${links.url}">
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

function snippet(label: string, text: string): Html {
  return html`<label>${label}<input readonly value="${text}"></label>
`;
}

function readableBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const unit = bytes < 1024 ** 2 ? 'KiB' : 'MiB';
  return `${(bytes / (unit === 'KiB' ? 1024 : 1024 ** 2)).toFixed(1)} ${unit} (${bytes} bytes)`;
}
