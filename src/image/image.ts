import type { Warning } from '../codec/convert/warnings.ts';
import type { Format } from '../codec/format.ts';
import type { Original } from '../codec/workers/protocol.ts';

/** Who can see an image: everyone, anyone with the link, or anyone with link and password. */
export const VISIBILITIES = ['public', 'unlisted', 'protected'] as const;
export type Visibility = (typeof VISIBILITIES)[number];

/** The expiry of images that never expire: the last moment that a date can hold. */
export const NEVER = 8_640_000_000_000_000;

/** Everything stored about an image. Times are ms since 1970. */
export interface ImageRecord {
  /** 12 random letters and digits. */
  id: string;
  /** The uploaded name: any text of at most 255 characters without path or control characters. */
  filename: string;
  format: Format;
  /** Width of one frame, in pixels, upright. */
  width: number;
  height: number;
  /** 1 for a still picture. */
  frames: number;
  /** Bytes of the stored file. */
  size: number;
  /** SHA-256 of the stored file in hexadecimal; also its ETag. */
  hash: string;
  /** Canonical address of the uploader; after `shared ` if it gives no right to delete. */
  uploader: string;
  /** `null` if no password is needed, otherwise a salted hash in the format of `password.ts`. */
  passwordHash: string | null;
  /** SHA-256 of the delete token in hexadecimal. */
  deleteTokenHash: string;
  createdAt: number;
  lastAccess: number;
  /** 1: anyone with the link can see it, but it is in no list or search. */
  unlisted: 0 | 1;
  /** When it expires. `null`: it is removed after a long time without views; `NEVER`: not even then. */
  expiresAt: number | null;
  /** How often its file may be sent; `null` if unlimited. */
  maxViews: number | null;
  /** How often it may still be sent; `null` if unlimited. Only the store takes and gives back views. */
  viewsLeft: number | null;
  /** A blurred preview: a ThumbHash in Base64. `null` for images stored by older versions. */
  thumbhash: string | null;
  /**
   * What it looks like, as 64 bits in hexadecimal; see `codec/look.ts`. `null` if there is little to see, and for
   * older images.
   */
  phash: string | null;
  /** What the stored file's EXIF says, a `TakenWith` as JSON. `null` if none was kept, and for older images. */
  exif: string | null;
  /** What it was made from, and how: a `Conversion` as JSON. `null` for older images. */
  made: string | null;
  /** What the uploader calls it, shown in place of the file name; `null` if nothing was given. As long as a name. */
  title: string | null;
  /** What it shows, for people who do not see it; `null` if nothing was given. As long as a name. */
  alt: string | null;
}

/** What was uploaded, what the conversion lost, and the ID of the token that was used. */
export interface Conversion {
  original: Original;
  warnings: readonly Warning[];
  token?: string;
}

/** Returns how an image was made; `null` for older images. */
export function conversionOf({ made }: Pick<ImageRecord, 'made'>): Conversion | null {
  return made === null ? null : (JSON.parse(made) as Conversion);
}

/** The properties of a stored image that can be changed. */
export const CHANGEABLE = ['filename', 'passwordHash', 'unlisted', 'expiresAt', 'title', 'alt'] as const;
export type ImageChange = Partial<Pick<ImageRecord, (typeof CHANGEABLE)[number]>>;

/** Returns what people read as the name of an image. */
export function nameOf({ title, filename }: Pick<ImageRecord, 'title' | 'filename'>): string {
  return title ?? filename;
}

/** Returns what stands for an image where it is not seen. */
export function altOf({ alt, filename }: Pick<ImageRecord, 'alt' | 'filename'>): string {
  return alt ?? filename;
}

export function visibilityOf({
  passwordHash,
  unlisted,
}: Pick<ImageRecord, 'passwordHash' | 'unlisted'>): Visibility {
  if (passwordHash !== null) return 'protected';
  return unlisted === 1 ? 'unlisted' : 'public';
}

/** What an uploader may ask for. The defaults are those of the API. */
export interface UploadOptions {
  /** `auto`: the uploaded format if it is one of the five, otherwise webp. */
  format: Format | 'auto';
  /** Of the encoder, from 1 to 100; `null`: it follows from the picture. */
  quality: number | null;
  stripExif: boolean;
  password: string | null;
  maxWidth: number;
  maxHeight: number;
  /** `null`: decided by the operator's setting and the password. */
  visibility: Visibility | null;
  /** In ms; infinity: it never expires; `null`: it is removed after a long time without views. */
  expiresIn: number | null;
  maxViews: number | null;
  title: string | null;
  alt: string | null;
}
