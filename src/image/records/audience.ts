import { invalidParameter, message } from '../../errors.ts';
import { formatExpiry } from '../../lib/expiry.ts';
import { keptAudience } from '../../web/preferences.ts';
import { type ImageRecord, NEVER, type UploadOptions, VISIBILITIES, type Visibility } from '../image.ts';

/** Maximum number of views that can be set as a limit. */
export const MOST_VIEWS = 10_000;

/** Whether there is a gallery, and the default visibility of pictures. */
const LISTINGS = ['public', 'unlisted', 'off'] as const;
export type Listing = (typeof LISTINGS)[number];

/** What the operator allows. */
export interface AudienceRules {
  listing: Listing;
  /** Maximum expiry that can be requested; infinite if pictures may be kept forever. */
  maxExpiryMs: number;
}

/** Who may see a picture and for how long, as requested by its uploader. */
type AudienceWish = Pick<UploadOptions, 'visibility' | 'password' | 'expiresIn' | 'maxViews'>;

/** The same as it is stored, without the password. */
type Audience = Pick<ImageRecord, 'unlisted' | 'expiresAt' | 'maxViews' | 'viewsLeft'>;

/**
 * Decides who may see a new picture. By default the operator's setting applies. A picture with a password is
 * protected, and one with a limit of views is unlisted, because visitors of a list would use them up.
 * @throws {AppError} `invalid_parameter` for options that contradict each other, or that the operator does not allow.
 */
export function audienceOf(wish: AudienceWish, rules: AudienceRules, now: number): Audience {
  const { visibility, password, expiresIn, maxViews } = wish;
  demandAgreement(visibility, password !== null);
  demandListed(visibility, rules, maxViews !== null);
  const byDefault = rules.listing === 'public' && maxViews === null ? 'public' : 'unlisted';
  return {
    unlisted: password === null && (visibility ?? byDefault) === 'unlisted' ? 1 : 0,
    expiresAt: expiresIn === null ? null : expiryOf(expiresIn, rules, now),
    maxViews,
    viewsLeft: maxViews,
  };
}

/**
 * Returns who sees what this visitor uploads on a page: what was chosen there last. Unlike for the API, the default is
 * that it is not in the gallery.
 */
export function chosenAudience(request: Request, { listing }: AudienceRules): Visibility {
  const kept = keptAudience(request);
  const chosen = VISIBILITIES.find((one) => one === kept) ?? 'unlisted';
  return chosen === 'public' && listing === 'off' ? 'unlisted' : chosen;
}

/** @throws {AppError} `invalid_parameter` if the visibility needs a password and there is none, or the reverse. */
export function demandAgreement(visibility: Visibility | null, hasPassword: boolean): void {
  if (visibility === 'protected' && !hasPassword) {
    throw invalidParameter('visibility', 'visibility=protected needs a password.');
  }
  if (visibility !== null && visibility !== 'protected' && hasPassword) {
    throw invalidParameter(
      'visibility',
      message('A picture with a password is protected: leave out the password, or visibility={visibility}.', {
        visibility,
      }),
    );
  }
}

/** @throws {AppError} `invalid_parameter` if a picture must not be in the lists. */
export function demandListed(
  visibility: Visibility | null,
  { listing }: AudienceRules,
  limited: boolean,
): void {
  if (visibility !== 'public') return;
  if (listing === 'off') {
    throw invalidParameter(
      'visibility',
      'This server lists no pictures; visibility must be unlisted or protected.',
    );
  }
  if (limited) {
    throw invalidParameter(
      'visibility',
      'A picture with max_views cannot be listed, because visitors of the list would use up its views; visibility must be unlisted or protected.',
    );
  }
}

/** @throws {AppError} `invalid_parameter` for a time that the operator does not allow. */
export function expiryOf(expiresIn: number, { maxExpiryMs }: AudienceRules, now: number): number {
  if (expiresIn > maxExpiryMs) {
    const most = formatExpiry(maxExpiryMs);
    throw invalidParameter(
      'expires_in',
      message('expires_in must be at most {most} on this server.', { most }),
    );
  }
  return Number.isFinite(expiresIn) ? now + expiresIn : NEVER;
}

/** Reports whether an image has expired, although its record still exists. */
export function isOver({ expiresAt }: Pick<ImageRecord, 'expiresAt'>, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}
