import type { ImageRecord } from '../image.ts';

const DAY_MS = 86_400_000;
/** Seconds for which caches may serve an expired answer while they revalidate it. */
export const STALE_S = 60;

/** Decides how long caches may keep files of images without a password. */
export function createCaching(maxAgeMs: number | undefined, now: () => number) {
  function seconds({ expiresAt }: Pick<ImageRecord, 'expiresAt'>): number {
    const leftMs = expiresAt === null ? Number.POSITIVE_INFINITY : expiresAt - now();
    return Math.max(0, Math.floor(Math.min(maxAgeMs ?? DAY_MS, leftMs) / 1000));
  }

  return {
    seconds,
    /** Returns `null` if they may not keep it at all. */
    until(image: ImageRecord): number | null {
      if (image.passwordHash !== null || image.maxViews !== null) return null;
      return now() + (seconds(image) + STALE_S) * 1000;
    },
  };
}
