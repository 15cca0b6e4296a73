import type { Listing } from '../records/audience.ts';

/** What the image host accepts, and how long it keeps it. */
export interface ImageLimits {
  maxUploadBytes: number;
  maxPixels: number;
  maxFrames: number;
  /** Whether HEIC is accepted. */
  heic: boolean;
  retentionMs: number;
  cleanupIntervalMs: number;
  /** How long files without a record stay in quarantine. */
  strayRetentionMs: number;
  /** How long caches may keep a public file. */
  cacheMaxAgeMs: number;
  /** Whether there is a gallery. */
  listing: Listing;
  /** Maximum expiry that uploaders can set; infinity: forever. */
  maxExpiryMs: number;
  /** How long the uploader's address gives the right to delete; infinity: always. */
  deleteByAddressMs: number;
}
