import type { ImageRecord } from '../image.ts';
import type { ByteRange } from '../store.ts';
import type { ImageLimits } from '../upload/quota.ts';

/** Seconds for which caches may serve an expired answer while they revalidate it. */
export const STALE_S = 60;

/** How long caches may keep files of images. */
export function createCaching(
  { cacheMaxAgeMs: maxAgeMs, retentionMs }: Pick<ImageLimits, 'cacheMaxAgeMs' | 'retentionMs'>,
  now: () => number,
) {
  function cacheSeconds({ expiresAt }: Pick<ImageRecord, 'expiresAt'>): number {
    // What caches serve while they revalidate must not outlast the picture either.
    // Views in caches are not seen, and what is not viewed is removed.
    const leftMs = expiresAt === null ? retentionMs / 10 : expiresAt - now() - STALE_S * 1000;
    return Math.max(0, Math.floor(Math.min(maxAgeMs, leftMs) / 1000));
  }

  return {
    /** For how many seconds caches may keep the file of an image that needs no password. */
    cacheSeconds,
    /** Until when caches may still have the current file of an image; `null` if they may not keep it at all. */
    cachedUntil(image: ImageRecord): number | null {
      if (image.passwordHash !== null || image.maxViews !== null) return null;
      // It may have had another expiry when a cache asked for it.
      return maxAgeMs < 1000 ? null : now() + maxAgeMs + STALE_S * 1000;
    },
  };
}

/** Identifies a version of a stored file; `modified` in ms since 1970. */
export interface Validators {
  /** A strong ETag, in quotes. */
  etag: string;
  modified: number;
}

/** Reports whether the caller already has the file, so that the answer is 304 (RFC 9110, section 13.2.2). */
export function isNotModified(headers: Headers, { etag, modified }: Validators): boolean {
  const known = headers.get('if-none-match');
  // The common case first, because parsing a list costs more than everything else.
  if (known !== null) {
    if (known === etag || known.trim() === '*') return true;
    // The comparison is weak.
    return [...known.matchAll(/"[^"]*"/g)].some(([tag]) => tag === etag);
  }
  const since = headers.get('if-modified-since');
  return since !== null && Math.floor(modified / 1000) * 1000 <= Date.parse(since);
}

/**
 * Returns the requested range of the file. `null`: the whole file, because no range or several were requested, or the
 * range belongs to another version. `unsatisfiable`: the range is outside the file.
 */
export function requestedRange(
  headers: Headers,
  size: number,
  { etag, modified }: Validators,
): ByteRange | 'unsatisfiable' | null {
  const range = headers.get('range');
  const version = headers.get('if-range') ?? etag;
  if (range === null || (version !== etag && version !== httpDate(modified))) return null;
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(range) ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end };
}

/** Returns a date such as `Sat, 31 Jan 2026 08:05:09 GMT`. */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}
