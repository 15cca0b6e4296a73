import { EXTENSIONS, type Format, type ImageRecord } from './image.ts';

/** Widths in pixels that a smaller version can be asked for in; a fixed list, so that nobody can fill the store. */
export const THUMBNAIL_WIDTHS = [160, 320, 640, 960, 1280, 1920] as const;

type Keyed = Pick<ImageRecord, 'id' | 'format'>;

/** Where the file of an image lies. */
export function originalKey({ id, format }: Keyed): string {
  return `${id}.${EXTENSIONS[format]}`;
}

/** Where the version of an image in that width lies. */
export function thumbnailKey({ id, format }: Keyed, width: number): string {
  return `${id}-${width}.${EXTENSIONS[format]}`;
}

/** Read by everything that shows pictures, whatever it says. */
export const READ_EVERYWHERE: readonly Format[] = ['jpeg', 'png', 'gif'];

/** Formats that `?auto` offers an image in besides its own, the best first; JPEG for clients that accept nothing else. */
export function otherFormats({ format }: Pick<ImageRecord, 'format'>): Format[] {
  const others: Format[] = READ_EVERYWHERE.includes(format) ? ['avif', 'webp'] : ['avif', 'webp', 'jpeg'];
  return others.filter((other) => other !== format);
}

/** Which file of an image is meant. */
export interface Shape {
  /** In pixels; `null`: that of the image. */
  width: number | null;
  /** Another one than that of the image only in its own width. */
  format: Format;
}

/** Where the file of that shape lies. */
export function shapeKey(image: Keyed, { width, format }: Shape): string {
  if (width !== null) return thumbnailKey(image, width);
  return format === image.format ? originalKey(image) : `${image.id}-auto.${EXTENSIONS[format]}`;
}

/** Every key that can hold a file of the image; its own file comes first. */
export function keysOf(image: Keyed & Pick<ImageRecord, 'width'>): string[] {
  const widths = THUMBNAIL_WIDTHS.filter((width) => width < image.width);
  return [
    originalKey(image),
    ...widths.map((width) => thumbnailKey(image, width)),
    ...otherFormats(image).map((format) => shapeKey(image, { width: null, format })),
  ];
}

/** Before the key of a file in quarantine. */
const STRAY = 'stray/';

/** Where a file without a record is kept until nobody can want it back. */
export function strayKey(key: string): string {
  return STRAY + key;
}

/** The place that a file in quarantine was taken from, or `null` if the key is not of one. */
export function keyOfStray(key: string): string | null {
  return key.startsWith(STRAY) ? key.slice(STRAY.length) : null;
}

/** Whose file lies under a key, or `null` if the key is none of ours. */
export function ownerOfKey(key: string): { id: string; original: boolean } | null {
  const [, id, width] = /^([0-9A-Za-z]{12})(-\d+|-auto)?\.[a-z]+$/.exec(key) ?? [];
  return id === undefined ? null : { id, original: width === undefined };
}
