import { createHash, timingSafeEqual } from 'node:crypto';
import type { ImageRecord } from '../image.ts';

/** Where an upload comes from. */
export interface Uploader {
  /** Canonical address. */
  peer: string;
  /** The same where it gives the right to delete, else `null`. */
  identity: string | null;
  /** Whose budget pays for the conversion. */
  payer: string;
}

/** Credentials for deleting an image. Any of the three is enough. */
export interface Deleter {
  /** Canonical address; `null` if others share it, or the request may come from someone else's page. */
  peer: string | null;
  token: string | null;
  admin: boolean;
}

/** Decides who may delete an image. */
export interface DeletionRights {
  /** What a record keeps of its uploader. */
  ownerOf(from: Uploader): string;
  mayRemove(image: ImageRecord, by: Deleter): boolean;
}

/** Before the address of an uploader that others share: it equals nobody's, but the administrator can still see it. */
const SHARED = 'shared ';

/** `byAddressMs`: for how long after the upload the uploader's address gives the right. */
export function createDeletionRights(byAddressMs: number, now: () => number): DeletionRights {
  return {
    ownerOf: ({ peer, identity }) => identity ?? `${SHARED}${peer}`,

    mayRemove(image, { peer, token, admin }) {
      if (admin || (token !== null && sameHash(hashOf(token), image.deleteTokenHash))) return true;
      const isUploader = peer !== null && peer !== '' && peer === image.uploader;
      return isUploader && now() - image.createdAt < byAddressMs;
    },
  };
}

/** What a record keeps of a delete token: its SHA-256, in hexadecimal. */
export function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Takes the same time wherever they differ. */
export function sameHash(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
