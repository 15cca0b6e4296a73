import type { Listing } from './audience.ts';

/** What the image host accepts, and how long it keeps it. */
export interface ImageLimits {
  maxUploadBytes: number;
  maxPixels: number;
  maxFrames: number;
  /** Whether HEIC is accepted. Default: yes. */
  heic?: boolean;
  retentionMs: number;
  cleanupIntervalMs: number;
  /** How long files without a record stay in quarantine. */
  strayRetentionMs: number;
  /** How long caches may keep a public file. Default: a day. */
  cacheMaxAgeMs?: number;
  /** Whether there is a gallery. Default: `public`. */
  listing?: Listing;
  /** Maximum expiry that uploaders can set; infinity: forever. Default: ten years. */
  maxExpiryMs?: number;
  /** How long the uploader's address gives the right to delete. Default: always. */
  deleteByAddressMs?: number;
}
