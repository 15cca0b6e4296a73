import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { FORMATS } from '../../codec/format.ts';
import { AppError, type ErrorDetail, inEnglish, message } from '../../errors.ts';
import { ruleOf } from '../../http/errors.ts';
import { EXPIRY_FORM, parseExpiry } from '../../lib/expiry.ts';
import { ALSO, coerce, flag, integer, oneOf, text } from '../../lib/schema.ts';
import { MAX_PASSWORD_BYTES } from '../access/password.ts';
import { type UploadOptions, VISIBILITIES } from '../image.ts';
import { MOST_VIEWS } from '../records/audience.ts';
import { cleanCaption } from './filename.ts';

/** WebP and JPEG have similar limits: 16383 and 65535 pixels. */
export const MAX_SIDE = 16_384;
export const DEFAULT_SIDE = 4096;

/** The options of an upload: fields of the multipart form, or query parameters. */
export const uploadOptions = Type.Object({
  format: Type.Optional(
    oneOf(
      [...FORMATS, 'auto'],
      'Output format. `auto` keeps the uploaded format if it is one of the five, otherwise uses webp. `jpg` means jpeg.',
      { default: 'webp' },
    ),
  ),
  quality: Type.Optional(
    integer(
      'Quality of the encoder for webp, jpeg and avif. By default it follows from the picture, so that all three look alike.',
      { minimum: 1, maximum: 100 },
    ),
  ),
  strip_exif: Type.Optional(
    flag(
      'Remove EXIF and other metadata. Colours are converted to sRGB, unless the file is kept as it came, with its profile.',
      { default: true },
    ),
  ),
  password: Type.Optional(
    text(`Password to protect the image with. At most ${MAX_PASSWORD_BYTES} bytes.`, {
      [ALSO]: ['pwd', 'passphrase', 'passcode'],
    }),
  ),
  max_width: Type.Optional(side('Maximum width in pixels. Wider images are scaled down.')),
  max_height: Type.Optional(side('Maximum height in pixels. Taller images are scaled down.')),
  visibility: Type.Optional(
    oneOf(
      VISIBILITIES,
      'Who can see the image. `public`: everyone; it appears in lists. `unlisted`: anyone with the link. `protected`: anyone with the link and the ' +
        'password. By default `protected` if there is a password, otherwise a setting of the server.',
    ),
  ),
  expires_in: Type.Optional(
    text(
      'When the image expires: after `10m` to `10y` (units m, h, d, w, y; seconds without a ' +
        'unit), or `never` if the server allows it. By default it is deleted after `retention_days` without a view.',
    ),
  ),
  max_views: Type.Optional(
    integer(
      'Delete the image after this many views. Such images are never listed, and have neither smaller versions nor `Range`.',
      { minimum: 1, maximum: MOST_VIEWS },
    ),
  ),
  filename: Type.Optional(text('File name to use instead of the uploaded one.')),
  title: Type.Optional(text('Title, shown in place of the file name.')),
  alt: Type.Optional(
    text('Alternative text: what the image shows, for people who do not see it. Default: the file name.'),
  ),
  album: Type.Optional(
    text('ID of an album to add the image to. Needs its token, as `X-Album-Token` or `album_token`.'),
  ),
  album_token: Type.Optional(text('Token of the album. Only as a field, because URLs end up in logs.')),
});

type Raw = Static<typeof uploadOptions>;

function side(description: string) {
  return Type.Integer({ minimum: 1, maximum: MAX_SIDE, default: DEFAULT_SIDE, description });
}

export interface ParsedOptions extends UploadOptions {
  filename: string | null;
  album: string | null;
  albumToken: string | null;
}

/**
 * Reads the options of an upload from text fields. An empty field counts as missing, unknown ones are ignored.
 * @throws {AppError} `invalid_parameter` with all faults at once.
 */
export function parseUploadOptions(fields: Readonly<Record<string, string>>): ParsedOptions {
  const raw: Record<string, unknown> = { ...fields };
  if (fields.format?.toLowerCase() === 'jpg') raw.format = 'jpeg';
  coerce(uploadOptions, raw);
  const details: ErrorDetail[] = [...Value.Errors(uploadOptions, raw)].map(({ path, schema }) => ({
    field: path.slice(1),
    message: ruleOf(schema),
  }));
  const options = raw as Raw;
  if (Buffer.byteLength(fields.password ?? '') > MAX_PASSWORD_BYTES) {
    details.push({
      field: 'password',
      message: message('must be at most {most} bytes', { most: MAX_PASSWORD_BYTES }),
    });
  }
  const expiresIn = options.expires_in === undefined ? undefined : parseExpiry(options.expires_in);
  if (expiresIn === null) details.push({ field: 'expires_in', message: EXPIRY_FORM });
  const faults = details.filter(
    (detail, index) => details.findIndex(({ field }) => field === detail.field) === index,
  );
  if (faults.length > 0) {
    const sentence = faults.map(({ field, message }) => `${field} ${message}`).join('; ');
    throw new AppError('invalid_parameter', inEnglish(`${sentence}.`), { details: faults });
  }
  return {
    format: options.format ?? 'webp',
    quality: options.quality ?? null,
    stripExif: options.strip_exif ?? true,
    password: options.password ?? null,
    maxWidth: options.max_width ?? DEFAULT_SIDE,
    maxHeight: options.max_height ?? DEFAULT_SIDE,
    visibility: options.visibility ?? null,
    expiresIn: expiresIn ?? null,
    maxViews: options.max_views ?? null,
    title: cleanCaption(options.title ?? ''),
    alt: cleanCaption(options.alt ?? ''),
    filename: options.filename ?? null,
    album: options.album ?? null,
    albumToken: options.album_token ?? null,
  };
}
