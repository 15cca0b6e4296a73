import type { FieldsOf } from '../lib/fields.ts';
import type { ImageRecord } from './image.ts';

/** What a store keeps of an image in one piece. Its id is the key; the last access and the views left change by themselves. */
export type ImageFacts = Omit<ImageRecord, 'id' | 'lastAccess' | 'viewsLeft'>;

/**
 * The fields of an image as every store keeps them. A new one goes to the end, says in `added` what older records are
 * taken to have, and needs a step in `adapters/sqlite/schema.ts`.
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
};
