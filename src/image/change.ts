import { type Static, Type } from '@sinclair/typebox';
import { inEnglish, invalidField, invalidParameter, message } from '../errors.ts';
import { EXPIRY_FORM, parseExpiry } from '../lib/expiry.ts';
import { oneOf, text } from '../lib/schema.ts';
import { MAX_PASSWORD_BYTES, type PasswordHasher } from './access/password.ts';
import { type ImageChange, type ImageRecord, VISIBILITIES } from './image.ts';
import { type AudienceRules, demandAgreement, demandListed, expiryOf } from './records/audience.ts';
import { cleanCaption, cleanFilename } from './upload/filename.ts';

const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/** The properties of a stored image that can be changed. */
export const changeBody = Type.Object(
  {
    visibility: Type.Optional(
      oneOf(VISIBILITIES, 'Who can see the image. `public` and `unlisted` remove the password.'),
    ),
    password: Type.Optional(text('A new password. It makes the image protected. Empty: no new one.')),
    expires_in: Type.Optional(
      nullable('As for an upload, counted from now. null: deleted after `retention_days` without a view.'),
    ),
    filename: Type.Optional(text('New file name.')),
    title: Type.Optional(nullable('New title. null: none, so that the file name is shown.')),
    alt: Type.Optional(nullable('New alternative text. null: none, so that it is the file name.')),
  },
  { additionalProperties: false, minProperties: 1 },
);

export type ChangeWish = Static<typeof changeBody>;

/**
 * Returns the changed fields of a record.
 * @throws {AppError} `invalid_parameter` for options that contradict each other or the image, or that the operator
 * does not allow.
 */
export async function changeOf(
  image: ImageRecord,
  wish: ChangeWish,
  { rules, hasher, now }: { rules: AudienceRules; hasher: Pick<PasswordHasher, 'hash'>; now: number },
): Promise<ImageChange> {
  const { visibility = null } = wish;
  const password = wish.password || null;
  if (Buffer.byteLength(password ?? '') > MAX_PASSWORD_BYTES) {
    throw invalidField('password', message('must be at most {most} bytes', { most: MAX_PASSWORD_BYTES }));
  }
  const keepsPassword = image.passwordHash !== null && visibility === 'protected';
  demandAgreement(visibility, password !== null || keepsPassword);
  demandListed(visibility, rules, image.maxViews !== null);
  const change: ImageChange = {};
  if (password !== null) change.passwordHash = await hasher.hash(password);
  else if (visibility !== null && visibility !== 'protected') change.passwordHash = null;
  // Not if it keeps its password: another change at the same time may remove that, and it would be public.
  if (change.passwordHash !== undefined) change.unlisted = visibility === 'unlisted' ? 1 : 0;
  if (wish.expires_in !== undefined) change.expiresAt = expiryIn(wish.expires_in, rules, now);
  if (wish.filename !== undefined) {
    const filename = cleanFilename(wish.filename);
    if (filename === null) throw invalidParameter('filename', inEnglish('filename must be a name.'));
    change.filename = filename;
  }
  if (wish.title !== undefined) change.title = cleanCaption(wish.title ?? '');
  if (wish.alt !== undefined) change.alt = cleanCaption(wish.alt ?? '');
  return change;
}

function expiryIn(text: string | null, rules: AudienceRules, now: number): number | null {
  if (text === null) return null;
  const ms = parseExpiry(text);
  if (ms === null) throw invalidField('expires_in', EXPIRY_FORM);
  return expiryOf(ms, rules, now);
}
