import { EXTENSIONS, MEDIA_TYPES } from '../../codec/format.ts';
import { escapeHtml } from '../../lib/escape-html.ts';
import { altOf, type ImageRecord } from '../image.ts';
import { heightAt, previewOf, THUMBNAIL_WIDTHS } from './blob-keys.ts';

type Linked = Pick<ImageRecord, 'id' | 'format' | 'filename' | 'alt' | 'width' | 'frames' | 'maxViews'>;

/** `base`: scheme, host and base path, without a trailing slash. */
export function pageUrl(base: string, id: string): string {
  return `${base}/i/${id}`;
}

/** The picture that chats and forums show of the link. */
function previewUrl(base: string, id: string): string {
  return `${pageUrl(base, id)}/preview.jpg`;
}

/** What a page says about the picture of its link. `base`: as for `pageUrl`. */
export function previewIn(
  image: Pick<ImageRecord, 'id' | 'format' | 'width' | 'height' | 'frames'>,
  base: string,
) {
  const { width, format } = previewOf(image);
  const sent = width ?? image.width;
  const height = heightAt(image, sent);
  return { url: previewUrl(base, image.id), mediaType: MEDIA_TYPES[format], width: sent, height };
}

/** The direct link. */
export function rawUrl(base: string, { id, format }: Pick<ImageRecord, 'id' | 'format'>): string {
  return `${base}/i/${id}.${EXTENSIONS[format]}`;
}

/** Returns the documented URLs of an image that a cache may have stored. */
export function cachedUrls(base: string, image: Pick<ImageRecord, 'id' | 'format' | 'width'>): string[] {
  const [page, raw] = [pageUrl(base, image.id), rawUrl(base, image)];
  const versions = THUMBNAIL_WIDTHS.filter((width) => width < image.width).map(
    (width) => `${raw}?w=${width}`,
  );
  return [
    page,
    `${page}?auto`,
    `${page}?auto=1`,
    previewUrl(base, image.id),
    raw,
    `${raw}?download=1`,
    ...versions,
  ];
}

/** The page that asks an uploader to confirm the deletion. */
export function deleteUrl(base: string, id: string, token: string): string {
  return `${base}/i/${id}/delete?token=${token}`;
}

/** Returns all links of an image. Its alternative text, which may be any text, cannot break out of a snippet. */
export function linksOf(base: string, image: Linked) {
  const raw = rawUrl(base, image);
  return {
    url: pageUrl(base, image.id),
    raw_url: raw,
    markdown: `![${escapeMarkdown(altOf(image))}](${raw})`,
    html: `<img src="${escapeHtml(raw)}"${srcsetOf(raw, image)} alt="${escapeHtml(onOneLine(altOf(image)))}">`,
    bbcode: `[img]${raw}[/img]`,
  };
}

/** The links and snippets of an image, named as in the API. */
export type Links = ReturnType<typeof linksOf>;

/** Widths among which browsers choose what fits their screen. */
const SNIPPET_WIDTHS = THUMBNAIL_WIDTHS.filter((width) => width >= 640 && width % 640 === 0);

function srcsetOf(raw: string, { width, frames, maxViews }: Linked): string {
  const smaller = frames > 1 || maxViews !== null ? [] : SNIPPET_WIDTHS.filter((one) => one < width);
  if (smaller.length === 0) return '';
  const choices = [...smaller.map((one) => `${raw}?w=${one} ${one}w`), `${raw} ${width}w`];
  return ` srcset="${escapeHtml(choices.join(', '))}"`;
}

/** Escapes any text for use as the description of a Markdown image; `|` would end a table's cell. */
function escapeMarkdown(text: string): string {
  return onOneLine(text).replace(/[\\`*_~[\]()<>&!|#$^:]/g, '\\$&');
}

/** Control characters, line separators and lone surrogates would break a snippet. */
function onOneLine(text: string): string {
  return text.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');
}
