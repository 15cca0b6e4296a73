import type { FieldsOf } from '../lib/fields.ts';
import type { ImageRecord } from './image.ts';

/**
 * The part of an image that a store keeps together. Its ID is the key; last access and views left change separately.
 */
export type ImageFacts = Omit<ImageRecord, 'id' | 'lastAccess' | 'viewsLeft'>;

/**
 * The fields of an image as every store keeps them. A new field goes to the end, gives in `added` the value for older
 * records, and needs a step in `adapters/sqlite/schema.ts`.
 */
export const IMAGE_FIELDS: FieldsOf<ImageFacts> = {
  format: { kind: 'text' },
  size: { kind: 'integer' },
  passwordHash: { kind: 'text', nullable: true },
  createdAt: { kind: 'integer' },
  filename: { kind: 'text' },
  width: { kind: 'integer' },
  height: { kind: 'integer' },
  frames: { kind: 'integer' },
  hash: { kind: 'text' },
  uploader: { kind: 'text' },
  deleteTokenHash: { kind: 'text' },
  unlisted: { kind: 'integer', added: 0 },
  expiresAt: { kind: 'integer', nullable: true },
  maxViews: { kind: 'integer', nullable: true },
  thumbhash: { kind: 'text', nullable: true },
  phash: { kind: 'text', nullable: true },
  exif: { kind: 'text', nullable: true },
  made: { kind: 'text', nullable: true },
  title: { kind: 'text', nullable: true },
  alt: { kind: 'text', nullable: true },
};
