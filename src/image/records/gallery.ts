import type { Format } from '../../codec/format.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageService } from '../service.ts';
import type { Page, Place } from '../store.ts';

/** Which public images a visitor of the gallery wants to see. */
export interface GalleryFilter {
  /** Text contained in the name, ID or format; empty: any. */
  text: string;
  format: Format | null;
  /** Ms since 1970: not older than `from`, and older than `until`. */
  from: number | null;
  until: number | null;
}

/** Batch size, and the maximum number of batches: stores have no index for these filters. */
const SLICE = 100;
const MOST_SLICES = 20;

/** Some matches, and where the search continues. */
export type FilteredPage = Pick<Page<ImageRecord>, 'items' | 'next'> & {
  /** The number of matches, if known. */
  total: Pick<Page<ImageRecord>, 'total' | 'exact'> | null;
};

/**
 * Returns matching public images, newest first, after `after`. Examines at most 2,000: it may then return fewer than
 * `perPage`, with a `next` to continue.
 */
export async function listFiltered(
  { list }: Pick<ImageService, 'list'>,
  { text, format, from, until }: GalleryFilter,
  { after, perPage }: { after: Place | null; perPage: number },
): Promise<FilteredPage> {
  const begin = after ?? (until === null ? null : { createdAt: until, id: '' });
  const read = (limit: number, behind: Place | null) =>
    list({ page: 1, perPage: limit, ...(behind && { after: behind }), ...(text !== '' && { text }) });
  if (format === null && from === null) {
    const { items, next, total, exact } = await read(perPage, begin);
    return { items, next, total: until === null ? { total, exact } : null };
  }
  const items: ImageRecord[] = [];
  let behind = begin;
  for (let slice = 0; slice < MOST_SLICES; slice++) {
    const found = await read(SLICE, behind);
    for (const image of found.items) {
      if (from !== null && image.createdAt < from) return { items, next: null, total: null };
      if (format !== null && image.format !== format) continue;
      items.push(image);
      if (items.length === perPage) {
        const isLast = image === found.items.at(-1) && found.next === null;
        return { items, next: isLast ? null : { createdAt: image.createdAt, id: image.id }, total: null };
      }
    }
    behind = found.next;
    if (behind === null) break;
  }
  return { items, next: behind, total: null };
}
