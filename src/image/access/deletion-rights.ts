import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../../errors.ts';
import type { RequestContext } from '../../http/context.ts';
import { bearerOf } from '../../http/dialect.ts';
import { sha256 } from '../../lib/secret.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import { type Conversion, conversionOf, type ImageRecord } from '../image.ts';
import { cutText } from '../upload/filename.ts';

/** Where an upload comes from. */
export type Uploader = Pick<RequestContext, 'peer' | 'identity' | 'payer'>;

/** Credentials for deleting an image. Any of the three is sufficient. */
export interface Deleter {
  /** Canonical address; `null` if it is shared, or if the request may come from another site's page. */
  peer: string | null;
  token: string | null;
  admin: boolean;
  /** For the audit log; see `Act`. */
  log?: { who: string; peer: string; why: string; statement?: string } | undefined;
}

/** Prefix of a shared uploader's address. It equals no address, but the administrator can still read it. */
const SHARED = 'shared ';

/** `byAddressMs`: how long after the upload the uploader's address gives the right. */
export function createDeletionRights(byAddressMs: number, now: () => number) {
  return {
    /** Returns what a record keeps of its uploader. */
    ownerOf: ({ peer, identity }: Uploader) => identity ?? `${SHARED}${peer}`,

    mayRemove(image: ImageRecord, { peer, token, admin }: Deleter): boolean {
      if (admin || (token !== null && sameHash(sha256(token), image.deleteTokenHash))) return true;
      if (peer === null || peer === '' || peer !== image.uploader) return false;
      return elapsedSince(image.createdAt, now()) < byAddressMs || byAddressMs === Number.POSITIVE_INFINITY;
    },
  };
}

/** Decides who may delete an image. */
export type DeletionRights = ReturnType<typeof createDeletionRights>;

/** With which the tokens begin that the operator issues: clients send theirs to every path. */
const ISSUED = 'picpool_';

/** Returns the error for someone who may not delete an image. */
export const mayNotDelete = ({ token }: Deleter) =>
  new AppError(
    'forbidden',
    token === null || token.startsWith(ISSUED)
      ? 'Only the uploader may delete an image. Send its delete token.'
      : 'The delete token is wrong.',
  );

/** Prefix of a payer that is a token. */
const TOKEN = 'token ';

/** Returns what a record keeps of the token that was used. */
export const tokenBy = ({ payer }: Uploader): Pick<Conversion, 'token'> =>
  payer.startsWith(TOKEN) ? { token: payer.slice(TOKEN.length) } : {};

/** Returns the ID of the token that an image was uploaded with, or `null`. */
export const uploadTokenOf = (image: ImageRecord): string | null => conversionOf(image)?.token ?? null;

/** Returns the address of an uploader, shared or not. */
export const addressOf = ({ uploader }: ImageRecord): string => uploader.replace(SHARED, '');

/** Characters of a reason in the audit log. */
const MAX_REASON = 500;

/** Compares two hashes in constant time. */
export function sameHash(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/**
 * Returns who asks for a deletion, according to the request: by address, `delete_token` or `token` in the query,
 * `X-Delete-Token` or a bearer token.
 */
export function deleterOf(request: Request, context: RequestContext): Deleter {
  const { headers } = request;
  const { identity, origin, moderates, actor, peer } = context;
  const query = new URL(request.url).searchParams;
  // The links given to people use the second name.
  const token = query.get('delete_token') || query.get('token') || tokenOf(request);
  const log = { who: actor, peer, why: cutText(query.get('reason') ?? '', MAX_REASON) };
  return { peer: isForeignPage(headers, origin) ? null : identity, token, admin: moderates, log };
}

/** Returns the delete token of a header: `X-Delete-Token`, or a bearer token. */
export function tokenOf({ headers }: Request): string | null {
  return headers.get('x-delete-token') || bearerOf(headers.get('authorization'));
}

/**
 * Reports whether a browser sends the request for another site's page: such a page must not delete anything by the
 * visitor's address. Browsers without `Sec-Fetch-Site` still send `Origin`.
 */
function isForeignPage(headers: Headers, ownOrigin: string): boolean {
  const site = headers.get('sec-fetch-site');
  if (site === 'cross-site' || site === 'same-site') return true;
  const origin = headers.get('origin');
  return origin !== null && origin !== new URL(ownOrigin).origin;
}
