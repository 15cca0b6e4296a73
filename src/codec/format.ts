/** Formats that images are stored in. */
export const FORMATS = ['webp', 'jpeg', 'png', 'avif', 'gif'] as const;
export type Format = (typeof FORMATS)[number];

/** Reports whether this is the name of a format in which images are stored. */
export function isFormat(name: string): name is Format {
  return FORMATS.some((format) => format === name);
}

/** The extension and the media type of the direct link. */
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
