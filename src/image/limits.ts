import type { Listing } from './audience.ts';

/** What the image host may take and for how long it keeps it. */
export interface ImageLimits {
  maxUploadBytes: number;
  maxPixels: number;
  maxFrames: number;
  /** Whether HEIC is accepted, which it is when not given. */
  heic?: boolean;
  retentionMs: number;
  cleanupIntervalMs: number;
  /** How long files without a record stay in quarantine. */
  strayRetentionMs: number;
  /** How long caches may keep a public file; a day when not given. */
  cacheMaxAgeMs?: number;
  /** Whether there is a gallery; `public` when not given. */
  listing?: Listing;
  /** Longest time that uploaders can keep a picture; infinite: forever. Ten years by default. */
  maxExpiryMs?: number;
  /** How long the uploader's address gives the right to delete; always when not given. */
  deleteByAddressMs?: number;
}
