import { type Static, Type } from '@sinclair/typebox';
import { AppError, invalidParameter } from '../errors.ts';
import { EXPECTS, oneOf } from '../lib/schema.ts';
import { reasonOf } from '../web/error-page.ts';
import { galleryPage } from '../web/gallery-page.ts';
import type { HomeSection } from '../web/home-page.ts';
import { pageResponse } from '../web/page-response.ts';
import type { Tile } from '../web/picture-rows.ts';
import type { Site } from '../web/site.ts';
import { uploadSection } from '../web/upload-form.ts';
import { MOST_VIEWS } from './audience.ts';
import { acceptedNames } from './codec/formats.ts';
import { formatCursor, parseCursor } from './cursor.ts';
import { listFiltered } from './filtered-list.ts';
import { EXTENSIONS, FORMATS, type ImageRecord } from './image.ts';
import { placeholderOf } from './placeholder.ts';
import { listQuery } from './schemas.ts';
import type { ImageService } from './service.ts';
import { DEFAULT_SIDE, MAX_SIDE } from './upload/upload-options.ts';

const PER_PAGE = 40;
/** Number of pictures of the next page that reserve their space on this one. */
const AHEAD = 40;
const DAY_MS = 86_400_000;
const LATEST = 6;

const day = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', [EXPECTS]: 'a date such as 2026-01-31' });

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
    tiles: items.map(tileOf),
    ahead: ahead.map(tileOf),
    total: found.total,
    query: { q: text, format: format ?? '', from: from ?? '', to: to ?? '' },
    formats: FORMATS,
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
  if (!exists) throw invalidParameter(name, `${name} must be a date such as 2026-01-31.`);
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
      formats: FORMATS,
      listing,
      retentionMs,
      latest: latest.items.map(tileOf),
      fault,
      hasCommandKey: /\bMac OS X\b/.test(request.headers.get('user-agent') ?? ''),
    }),
    scripts: ['copy.js', 'upload.js', 'install.js'],
    summary: site.words.upload.summary,
  };
}

/** Returns what a grid shows of an image. */
export function tileOf({ id, format, filename, width, height, frames, thumbhash }: ImageRecord): Tile {
  const placeholder = placeholderOf(thumbhash);
  return { id, extension: EXTENSIONS[format], filename, width, height, frames, placeholder };
}
