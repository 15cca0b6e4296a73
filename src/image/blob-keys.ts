import { EXTENSIONS, type ImageRecord } from './image.ts';

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

/** Every key that can hold a file of the image; its own file comes first. */
export function keysOf(image: Keyed & Pick<ImageRecord, 'width'>): string[] {
  const widths = THUMBNAIL_WIDTHS.filter((width) => width < image.width);
  return [originalKey(image), ...widths.map((width) => thumbnailKey(image, width))];
}

/** Before the key of a file in quarantine. */
const STRAY = 'stray/';

/** Where a file without a record is kept until nobody can want it back. */
export function strayKey(key: string): string {
  return STRAY + key;
}

/** The place that a file in quarantine was taken from, or `null` where the key is not of one. */
export function keyOfStray(key: string): string | null {
  return key.startsWith(STRAY) ? key.slice(STRAY.length) : null;
}

/** Whose file lies under a key, or `null` where the key is none of ours. */
export function ownerOfKey(key: string): { id: string; original: boolean } | null {
  const [, id, width] = /^([0-9A-Za-z]{12})(-\d+)?\.[a-z]+$/.exec(key) ?? [];
  return id === undefined ? null : { id, original: width === undefined };
}
