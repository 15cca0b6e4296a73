/** Formats that images are stored in. */
export const FORMATS = ['webp', 'jpeg', 'png', 'avif', 'gif'] as const;
export type Format = (typeof FORMATS)[number];

/** Whether images are stored in a format of that name. */
export function isFormat(name: string): name is Format {
  return FORMATS.some((format) => format === name);
}

/** What the extension of the direct link is, and the media type it is served as. */
export const EXTENSIONS: Record<Format, string> = {
  webp: 'webp',
  jpeg: 'jpg',
  png: 'png',
  avif: 'avif',
  gif: 'gif',
};
export const MEDIA_TYPES: Record<Format, string> = {
  webp: 'image/webp',
  jpeg: 'image/jpeg',
  png: 'image/png',
  avif: 'image/avif',
  gif: 'image/gif',
};

/** Who can see an image: everyone, anyone with the link, or anyone with link and password. */
export const VISIBILITIES = ['public', 'unlisted', 'protected'] as const;
export type Visibility = (typeof VISIBILITIES)[number];

/** The end of what never expires: the last moment that a date can name. */
export const NEVER = 8_640_000_000_000_000;

/** How a picture was taken, as its EXIF tells it. */
export interface TakenWith {
  camera?: string;
  lens?: string;
  /** Seconds. */
  exposure?: number;
  /** The f-number. */
  aperture?: number;
  iso?: number;
  /** Millimetres. */
  focalLength?: number;
  /** By the clock of the camera, whose zone is not known: `2024-05-01T12:30:00`. */
  taken?: string;
  /** The file says where. */
  place?: true;
}

/** Everything that is remembered about an image. Times are ms since 1970. */
export interface ImageRecord {
  /** 12 random letters and digits. */
  id: string;
  /** The uploaded name: at most 255 characters, no path, no control characters; may be any other text. */
  filename: string;
  format: Format;
  /** Of one frame, in pixels, upright. */
  width: number;
  height: number;
  /** 1 for a still picture. */
  frames: number;
  /** Bytes of the stored file. */
  size: number;
  /** SHA-256 of the stored file in hexadecimal; also its ETag. */
  hash: string;
  /** Canonical address of the uploader; after `shared ` where it gave no right to delete. */
  uploader: string;
  /** `null`: no password is needed. Else a salted hash in the form of `password.ts`. */
  passwordHash: string | null;
  /** SHA-256 of the delete token in hexadecimal. */
  deleteTokenHash: string;
  createdAt: number;
  lastAccess: number;
  /** 1: anyone with the link can see it, but no list or search has it. */
  unlisted: 0 | 1;
  /** From then on nobody sees it. `null`: it goes when nobody has opened it for long; `NEVER`: not even then. */
  expiresAt: number | null;
  /** How often its file may be sent; `null`: any number of times. */
  maxViews: number | null;
  /** How often it may still be sent; `null` if that is not limited. Taken and given back by the store alone. */
  viewsLeft: number | null;
  /** A blurred preview: a ThumbHash in Base64. `null` for images that were stored before there was one. */
  thumbhash: string | null;
  /** What it looks like, as 64 bits in hexadecimal; see `codec/look.ts`. `null` if there is little to see, and for older images. */
  phash: string | null;
  /** What the stored file's EXIF tells, a `TakenWith` as JSON. `null` if none was kept, and for older images. */
  exif: string | null;
}

/** What of a stored image can be changed. */
export type ImageChange = Partial<Pick<ImageRecord, 'filename' | 'passwordHash' | 'unlisted' | 'expiresAt'>>;

export function visibilityOf({
  passwordHash,
  unlisted,
}: Pick<ImageRecord, 'passwordHash' | 'unlisted'>): Visibility {
  if (passwordHash !== null) return 'protected';
  return unlisted === 1 ? 'unlisted' : 'public';
}

/** What an uploader may ask for; the defaults are those of the interface. */
export interface UploadOptions {
  /** `auto`: the uploaded format if it is one of the five, else webp. */
  format: Format | 'auto';
  stripExif: boolean;
  password: string | null;
  maxWidth: number;
  maxHeight: number;
  /** `null`: as the operator and the password have it. */
  visibility: Visibility | null;
  /** In ms; infinite: it never expires; `null`: it goes when nobody has opened it for long. */
  expiresIn: number | null;
  maxViews: number | null;
}
