import { EXTENSIONS, type Format } from '../../codec/format.ts';
import type { ImageRecord } from '../image.ts';

/** Widths in pixels that a smaller version can have. A fixed list, so that nobody can fill the store. */
export const THUMBNAIL_WIDTHS = [160, 320, 640, 960, 1280, 1920] as const;

type Keyed = Pick<ImageRecord, 'id' | 'format'>;

/** Longer side, in pixels, of what chats and forums show of a link. Some show none that has more than 300 KB. */
const PREVIEW_SIDE = 1280;

/** Returns the key of an image's file. */
export function originalKey({ id, format }: Keyed): string {
  return `${id}.${EXTENSIONS[format]}`;
}

/** Formats that every viewer reads, whatever it claims to accept. */
export const READ_EVERYWHERE: readonly Format[] = ['jpeg', 'png', 'gif'];

/**
 * Returns the formats in which `?auto` offers an image besides its own, best first, with JPEG for clients that accept
 * nothing else.
 */
export function otherFormats({ format }: Pick<ImageRecord, 'format'>): Format[] {
  const others: Format[] = READ_EVERYWHERE.includes(format) ? ['avif', 'webp'] : ['avif', 'webp', 'jpeg'];
  return others.filter((other) => other !== format);
}

/** Selects a file of an image. */
export interface Shape {
  /** In pixels; `null`: the width of the image. */
  width: number | null;
  /** A format other than that of the image is possible only in its full width, and for `previewOf`. */
  format: Format;
}

type Sized = Keyed & Pick<ImageRecord, 'width' | 'height' | 'frames'>;

/** Returns the height of the version of an image in that width, in pixels. */
export function heightAt({ width, height }: Pick<ImageRecord, 'width' | 'height'>, one: number): number {
  return Math.max(1, Math.round((height * one) / width));
}

/** Returns what chats and forums show of a link: a JPEG of at most 1,280 pixels, or an animation as it is. */
export function previewOf({ width, height, frames, format }: Sized): Shape {
  if (frames > 1) return { width: null, format };
  const fitting = Math.max(1, Math.round(width * Math.min(1, PREVIEW_SIDE / Math.max(width, height))));
  return { width: fitting < width ? fitting : null, format: 'jpeg' };
}

/** Returns the key of the file of that shape. */
export function shapeKey(image: Keyed, { width, format }: Shape): string {
  if (width === null)
    return format === image.format ? originalKey(image) : `${image.id}-auto.${EXTENSIONS[format]}`;
  const isOffered = THUMBNAIL_WIDTHS.some((one) => one === width) && format === image.format;
  return `${image.id}-${isOffered ? width : 'preview'}.${EXTENSIONS[format]}`;
}

/** Returns every key that can hold a file of the image, its original first. */
export function keysOf(image: Sized): string[] {
  const widths = THUMBNAIL_WIDTHS.filter((width) => width < image.width);
  const keys = new Set([
    originalKey(image),
    ...widths.map((width) => shapeKey(image, { width, format: image.format })),
    ...otherFormats(image).map((format) => shapeKey(image, { width: null, format })),
    shapeKey(image, previewOf(image)),
  ]);
  return [...keys];
}

/** Prefix of the keys of quarantined files. */
const STRAY = 'stray/';
/** Begins the keys of files in review. */
export const HELD = 'review/';

/** Returns where a file without a record is kept for a while in case it is needed. */
export function strayKey(key: string): string {
  return STRAY + key;
}

/** Returns where a file is, and the key where it belongs. */
export function placeOf(key: string): ['placed' | 'quarantined' | 'held', string] {
  if (key.startsWith(STRAY)) return ['quarantined', key.slice(STRAY.length)];
  return key.startsWith(HELD) ? ['held', key.slice(HELD.length)] : ['placed', key];
}

/** Returns the image that a key belongs to, or `null` if the key is not one of ours. */
export function ownerOfKey(key: string): { id: string; original: boolean } | null {
  const [, id, width] = /^([0-9A-Za-z]{12})(-\d+|-auto|-preview)?\.[a-z]+$/.exec(key) ?? [];
  return id === undefined ? null : { id, original: width === undefined };
}
