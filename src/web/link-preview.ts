import { type Html, html } from './html.ts';
import type { ImagePage } from './image-page.ts';

/** Returns what chats and forums show of a link to the page: OpenGraph, Twitter card, oEmbed. */
export function linkPreview({ filename, mediaType, width, height, links, oembed }: ImagePage): Html {
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
