import { type Static, Type } from '@sinclair/typebox';
import { FORMATS, type Format } from '../../codec/format.ts';
import { acceptedNames } from '../../codec/formats.ts';
import { AppError, invalidParameter, message } from '../../errors.ts';
import { EXPECTS, oneOf } from '../../lib/schema.ts';
import { reasonOf } from '../../web/error-page.ts';
import type { HomeSection } from '../../web/home-page.ts';
import { pageResponse } from '../../web/page-response.ts';
import type { Site } from '../../web/site.ts';
import type { ImageRecord } from '../image.ts';
import { galleryPage } from '../pages/gallery-page.ts';
import { uploadSection } from '../pages/upload-form.ts';
import { listQuery } from '../schemas.ts';
import type { ImageService } from '../service.ts';
import type { Page, Place } from '../store.ts';
import { DEFAULT_SIDE, MAX_SIDE } from '../upload/upload-options.ts';
import { MOST_VIEWS } from './audience.ts';
import { formatCursor, parseCursor } from './cursor.ts';

const PER_PAGE = 40;
/** Number of pictures of the next page that reserve their space on this one. */
const AHEAD = 40;
const DAY_MS = 86_400_000;
const LATEST = 6;

const day = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}$',
  [EXPECTS]: () => message('must be a date such as {example}', { example: '2026-01-31' }),
});

interface GalleryOptions {
  service: Pick<ImageService, 'list' | 'limits'>;
  basePath: string;
  /** True if only holders of tokens may upload. */
  needsToken?: boolean;
}

/** The query of the gallery; days are in UTC. */
export const galleryQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 255 })),
  format: Type.Optional(oneOf(FORMATS)),
  from: Type.Optional(day),
  to: Type.Optional(day),
  cursor: listQuery.properties.cursor,
});

/** Renders the gallery page. */
export async function showGallery(
  { service, basePath }: GalleryOptions,
  site: Site,
  request: Request,
  { q: text = '', format, from, to, cursor }: Static<typeof galleryQuery>,
): Promise<Response> {
  const filter = {
    text,
    format: format ?? null,
    from: from === undefined ? null : startOf('from', from),
    until: to === undefined ? null : startOf('to', to) + DAY_MS,
  };
  const after = cursor === undefined ? null : parseCursor(cursor);
  const found = await listFiltered(service, filter, { after, perPage: PER_PAGE + AHEAD });
  const items = found.items.slice(0, PER_PAGE);
  const ahead = found.items.slice(PER_PAGE);
  const next = ahead.length > 0 ? (items.at(-1) ?? null) : found.next;
  const gallery = {
    basePath,
    tiles: items,
    ahead,
    total: found.total,
    query: { q: text, format: format ?? '', from: from ?? '', to: to ?? '' },
    isFirst: after === null,
    next: next && formatCursor(next),
  };
  return pageResponse(site, galleryPage(site, gallery), { cache: 'no-cache', compressFor: request });
}

/** Returns when a day begins, in ms since 1970. */
function startOf(name: string, text: string): number {
  const ms = Date.parse(text);
  // Runtimes read February 31 as March 3.
  const exists = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
  if (!exists)
    throw invalidParameter(
      name,
      message('{field} must be a date such as {example}.', { field: name, example: '2026-01-31' }),
    );
  return ms;
}

/** Returns what the home page shows of the image host, even if the store does not answer. */
export async function imageHome(
  site: Site,
  request: Request,
  { service, basePath, needsToken = false }: GalleryOptions,
): Promise<HomeSection> {
  let fault: string | null = null;
  const latest = await service.list({ page: 1, perPage: LATEST }).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    fault = reasonOf(site, error);
    return { items: [] };
  });
  const { maxUploadBytes, retentionMs, heic, listing, maxExpiryMs } = service.limits;
  return {
    content: uploadSection(site, {
      basePath,
      most: {
        bytes: maxUploadBytes,
        side: MAX_SIDE,
        usualSide: DEFAULT_SIDE,
        views: MOST_VIEWS,
        expiryMs: maxExpiryMs,
      },
      needsToken,
      accepted: acceptedNames(heic),
      listing,
      retentionMs,
      latest: latest.items,
      fault,
      hasCommandKey: /\bMac OS X\b/.test(request.headers.get('user-agent') ?? ''),
    }),
    scripts: ['copy.js', 'upload.js', 'install.js'],
    summary: site.words.upload.summary,
  };
}

/** Which public images a visitor of the gallery wants to see. */
export interface GalleryFilter {
  /** Text contained in the name, ID or format; empty: any. */
  text: string;
  format: Format | null;
  /** Ms since 1970: not older than `from`, and older than `until`. */
  from: number | null;
  until: number | null;
}

/** Batch size, and the maximum number of batches: stores have no index for these filters. */
const SLICE = 100;
const MOST_SLICES = 20;

type FilteredPage = Pick<Page<ImageRecord>, 'items' | 'next'> & {
  /** The number of matches, if known. */
  total: Pick<Page<ImageRecord>, 'total' | 'exact'> | null;
};

/**
 * Returns matching public images, newest first, after `after`. Examines at most 2,000: it may then return fewer than
 * `perPage`, with a `next` to continue.
 */
export async function listFiltered(
  { list }: Pick<ImageService, 'list'>,
  { text, format, from, until }: GalleryFilter,
  { after, perPage }: { after: Place | null; perPage: number },
): Promise<FilteredPage> {
  const begin = after ?? (until === null ? null : { createdAt: until, id: '' });
  const read = (limit: number, behind: Place | null) =>
    list({ page: 1, perPage: limit, ...(behind && { after: behind }), ...(text !== '' && { text }) });
  if (format === null && from === null) {
    const { items, next, total, exact } = await read(perPage, begin);
    return { items, next, total: until === null ? { total, exact } : null };
  }
  const items: ImageRecord[] = [];
  let behind = begin;
  for (let slice = 0; slice < MOST_SLICES; slice++) {
    const found = await read(SLICE, behind);
    for (const image of found.items) {
      if (from !== null && image.createdAt < from) return { items, next: null, total: null };
      if (format !== null && image.format !== format) continue;
      items.push(image);
      if (items.length === perPage) {
        const isLast = image === found.items.at(-1) && found.next === null;
        return { items, next: isLast ? null : { createdAt: image.createdAt, id: image.id }, total: null };
      }
    }
    behind = found.next;
    if (behind === null) break;
  }
  return { items, next: behind, total: null };
}
