export const FORMATS = ['webp', 'jpeg', 'png', 'avif', 'gif'] as const;
export type Format = (typeof FORMATS)[number];

/** Reports whether this is the name of a format in which images are stored. */
export function isFormat(name: string): name is Format {
  return FORMATS.some((format) => format === name);
}

const each = (name: (format: Format) => string) =>
  Object.fromEntries(FORMATS.map((format) => [format, name(format)])) as Record<Format, string>;

/** The extension and the media type of the direct link. */
export const EXTENSIONS = each((format) => (format === 'jpeg' ? 'jpg' : format));
export const MEDIA_TYPES = each((format) => `image/${format}`);
