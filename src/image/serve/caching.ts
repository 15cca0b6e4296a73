import type { ImageRecord } from '../image.ts';

/** Seconds for which caches may serve an expired answer while they revalidate it. */
export const STALE_S = 60;

/** How long caches may keep files of images. */
export interface Caching {
  /** For how many seconds caches may keep the file of an image that needs no password. */
  cacheSeconds(image: Pick<ImageRecord, 'expiresAt'>): number;
  /** Until when caches may still have the current file of an image; `null` if they may not keep it at all. */
  cachedUntil(image: ImageRecord): number | null;
}

export function createCaching(maxAgeMs: number, now: () => number): Caching {
  function cacheSeconds({ expiresAt }: Pick<ImageRecord, 'expiresAt'>): number {
    const leftMs = expiresAt === null ? Number.POSITIVE_INFINITY : expiresAt - now();
    return Math.max(0, Math.floor(Math.min(maxAgeMs, leftMs) / 1000));
  }

  return {
    cacheSeconds,
    cachedUntil(image) {
      if (image.passwordHash !== null || image.maxViews !== null) return null;
      return now() + (cacheSeconds(image) + STALE_S) * 1000;
    },
  };
}
