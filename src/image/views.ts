import type { Static } from '@sinclair/typebox';
import type { Warning } from '../codec/convert/warnings.ts';
import { FORMATS } from '../codec/format.ts';
import { acceptedFormats } from '../codec/formats.ts';
import type { Original } from '../codec/workers/protocol.ts';
import { formatTimestamp } from '../lib/clock.ts';
import type { TakenWith } from '../lib/taken-with.ts';
import { conversionOf, type ImageRecord, NEVER, visibilityOf } from './image.ts';
import { formatCursor } from './records/cursor.ts';
import { cachedUrls, deleteUrl, linksOf, pageUrl, rawUrl } from './records/links.ts';
import type {
  changeAnswer,
  infoAnswer,
  listAnswer,
  statsAnswer,
  uploadAnswer,
  uploadsAnswer,
} from './schemas.ts';
import type { ImageSummary, Page } from './store.ts';
import type { ImageLimits } from './upload/quota.ts';
import type { Outcome, Uploaded } from './upload/storing.ts';

/** Returns what the public may know about an image: never the uploader's address, never a hash. */
export function facts(image: ImageRecord) {
  const { id, filename, title, alt, format, width, height, frames, size, createdAt } = image;
  const created_at = formatTimestamp(createdAt);
  return { id, filename, title, alt, format, width, height, frames, size, created_at };
}

/** Returns when an image expires: a time, `never`, or `null` if it is removed after a long time without views. */
function expiryText({ expiresAt }: Pick<ImageRecord, 'expiresAt'>): string | null {
  if (expiresAt === null) return null;
  return expiresAt === NEVER ? 'never' : formatTimestamp(expiresAt);
}

/** Returns who can see an image, and for how long. */
export function audience(image: ImageRecord) {
  const { maxViews, viewsLeft } = image;
  return {
    protected: image.passwordHash !== null,
    visibility: visibilityOf(image),
    expires_at: expiryText(image),
    max_views: maxViews,
    views_left: viewsLeft,
  };
}

/** Reports whether the stored file says where the picture was taken. */
export function tellsPlace({ exif }: Pick<ImageRecord, 'exif'>): boolean {
  return exif !== null && (JSON.parse(exif) as TakenWith).place === true;
}

/** Returns what everybody may know of how an image was made. */
function madeFrom(image: ImageRecord): { original: Original | null; warnings: Warning[] } {
  const { original = null, warnings = [] } = conversionOf(image) ?? {};
  return { original, warnings: [...warnings] };
}

/** Returns the answer to an upload. `base`: scheme, host and base path. */
export function uploadView(
  base: string,
  { image, deleteToken, removed, warnings, inReview, album }: Uploaded,
): Static<typeof uploadAnswer.schema> {
  return {
    success: true,
    ...facts(image),
    ...linksOf(base, image),
    ...audience(image),
    ...(inReview && { review: true as const }),
    ...(album !== undefined && { album }),
    delete_token: deleteToken,
    delete_url: deleteUrl(base, image.id, deleteToken),
    location: tellsPlace(image),
    original: madeFrom(image).original,
    removed: [...removed],
    warnings: [...warnings],
  };
}

/** Returns the answer to an upload of several files. */
export function uploadsView(base: string, outcomes: readonly Outcome[]): Static<typeof uploadsAnswer.schema> {
  const results = outcomes.map((outcome) =>
    'uploaded' in outcome
      ? uploadView(base, outcome.uploaded)
      : {
          success: false as const,
          filename: outcome.filename,
          error: outcome.fault.message,
          code: outcome.fault.code,
        },
  );
  const stored = results.filter(({ success }) => success).length;
  return { success: true, stored, failed: results.length - stored, results };
}

/** Returns the information about one image. */
export function infoView(base: string, image: ImageRecord): Static<typeof infoAnswer.schema> {
  return {
    success: true,
    ...facts(image),
    ...linksOf(base, image),
    ...audience(image),
    // A picture with limited views must not be shown here, not even as a thumbhash.
    thumbhash: image.maxViews === null ? image.thumbhash : null,
    last_access: formatTimestamp(image.lastAccess),
    location: tellsPlace(image),
    ...madeFrom(image),
  };
}

/** Returns the answer to a change. `cachedUntil`: when the last cache drops the previous version. */
export function changeView(
  base: string,
  image: ImageRecord,
  cachedUntil: number | null,
): Static<typeof changeAnswer.schema> {
  return {
    ...infoView(base, image),
    cached_until: cachedUntil === null ? null : formatTimestamp(cachedUntil),
  };
}

/** Returns one page of a list or of search results. */
export function listView(
  base: string,
  { items, total, exact, next }: Page<ImageRecord>,
  asked: { page: number; perPage: number; query?: string },
): Static<typeof listAnswer.schema> & { query?: string } {
  return {
    success: true,
    ...(asked.query !== undefined && { query: asked.query }),
    page: asked.page,
    per_page: asked.perPage,
    total,
    total_exact: exact,
    pages: Math.ceil(total / asked.perPage),
    next: next && formatCursor(next),
    images: items.map((image) => ({
      ...facts(image),
      url: pageUrl(base, image.id),
      raw_url: rawUrl(base, image),
      thumbhash: image.thumbhash,
      last_access: formatTimestamp(image.lastAccess),
    })),
  };
}

/** Returns the statistics of the image host, and what it accepts. */
export function statsView(
  summary: ImageSummary,
  limits: ImageLimits,
  abuseContact?: string,
): Static<typeof statsAnswer.schema> {
  return {
    images: summary.images,
    protected: summary.protected,
    unlisted: summary.unlisted,
    bytes: summary.bytes,
    formats: Object.fromEntries(summary.formats.map(({ format, count }) => [format, count])),
    accepted_formats: acceptedFormats(limits.heic),
    output_formats: [...FORMATS],
    max_upload_bytes: limits.maxUploadBytes,
    max_pixels: limits.maxPixels,
    max_frames: limits.maxFrames,
    retention_days: limits.retentionMs / 86_400_000,
    ...(abuseContact !== undefined && { abuse_contact: abuseContact }),
  };
}

/**
 * Returns what webhooks send about an image: `urls` are those that caches may have. `base`: as for links, or only the
 * path.
 */
export function eventView(image: ImageRecord, base: string) {
  return {
    ...facts(image),
    ...audience(image),
    urls: image.maxViews === null ? cachedUrls(base, image) : [],
  };
}
