import { parseExpiry } from '../../lib/expiry.ts';
import { type Html, html } from '../../web/html.ts';
import type { Site, SiteOf } from '../../web/site.ts';
import type { previewIn } from '../records/links.ts';
import type { ImageService } from '../service.ts';
import type { ImageLimits } from '../upload/quota.ts';

/** What all pages of images need. */
export interface PagesOptions {
  service: ImageService;
  siteOf: SiteOf;
  basePath: string;
}

const EXPIRIES = ['1h', '1d', '1w', '30d', '1y'];

/** Returns how long a picture may stay, first as long as somebody views it, which has the value `unlimited`. */
export function expiryOptions(
  { words: { upload }, formats }: Site,
  { retentionMs, maxExpiryMs }: Pick<ImageLimits, 'retentionMs' | 'maxExpiryMs'>,
  unlimited: string,
): Html {
  const expiries = EXPIRIES.map((value) => ({ value, ms: parseExpiry(value) ?? 0 }));
  const allowed = expiries.filter(({ ms }) => ms <= maxExpiryMs);
  return html`<option value="${unlimited}">${upload.whenUnopened(formats.duration(retentionMs))}</option>${allowed.map(({ value, ms }) => html`<option value="${value}">${formats.duration(ms)}</option>`)}`;
}

interface LinkPreview {
  title: string;
  url: string;
  image: ReturnType<typeof previewIn> | null;
  more: Html;
}

/** Returns what chats and forums show of a link. Twitter reads the tags of OpenGraph as well, except for the kind of card. */
export function linkPreview({ title, url, image, more }: LinkPreview): Html {
  return html`<link rel="canonical" href="${url}">
<meta property="og:type" content="website">
<meta property="og:site_name" content="picpool">
<meta property="og:title" content="${title}">
<meta property="og:url" content="${url}">
${
  image &&
  html`<meta property="og:image" content="${image.url}">
<meta property="og:image:type" content="${image.mediaType}">
<meta property="og:image:width" content="${image.width}">
<meta property="og:image:height" content="${image.height}">
`
}<meta name="twitter:card" content="${image ? 'summary_large_image' : 'summary'}">
${more}`;
}

/** A picture as pages show it, in any size. */
export interface Shown {
  /** Path of the file, without a query. */
  path: string;
  width: number;
  height: number;
  /** A `data:` URL of a blurred preview, or `null`. */
  placeholder: string | null;
  /** Widths that the server offers besides that of the file, the smallest first; none is larger. */
  widths: readonly number[];
}

interface Showing {
  alt: string;
  /** Its width on the screen, in CSS. */
  sizes: string;
  /** False for pictures below the fold. */
  eager: boolean;
}

/** Used by browsers without `srcset`. */
const USUAL_WIDTH = 640;

/** Renders the picture in the version that fits the screen, over the preview until it has loaded. */
export function pictureElement(shown: Shown, { alt, sizes, eager }: Showing): Html {
  const { path, width, height, placeholder, widths } = shown;
  const versions = [...widths.map((one) => `${path}?w=${one} ${one}w`), `${path} ${width}w`];
  const usual = widths.find((one) => one >= USUAL_WIDTH) ?? widths.at(-1);
  const several = widths.length > 0 && html` srcset="${versions.join(', ')}" sizes="${sizes}"`;
  const when = eager ? html` fetchpriority="high"` : html` loading="lazy"`;
  return html`${placeholder !== null && html`<img class="blur" src="${placeholder}" alt="">`}<img src="${path}${usual !== undefined && `?w=${usual}`}"${several} width="${width}" height="${height}" alt="${alt}"${when} decoding="async">`;
}
