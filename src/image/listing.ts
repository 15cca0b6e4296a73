import { type AudienceRules, isOver } from './audience.ts';
import { type ImageRecord, visibilityOf } from './image.ts';
import type { ImageStore, Page, Place } from './store.ts';

/** Selects a page of the public images; with `text`, of those whose name, ID or format contains it. */
export interface ListQuery {
  text?: string;
  /** Counted from 1. Ignored if `after` is set. */
  page: number;
  perPage: number;
  /** Start after this position. */
  after?: Place;
}

/** Lists public images as visitors see them. */
export function createListing(images: Pick<ImageStore, 'list'>, rules: AudienceRules, now: () => number) {
  return async ({ text, page, perPage, after }: ListQuery): Promise<Page<ImageRecord>> => {
    if (rules.listing === 'off') return { items: [], total: 0, exact: true, next: null };
    const found = await images.list({
      offset: after === undefined ? (page - 1) * perPage : 0,
      limit: perPage,
      ...(after && { after }),
      ...(text !== undefined && { text }),
    });
    // Images that have just expired count until they are removed.
    return { ...found, items: found.items.filter((image) => !isOver(image, now())) };
  };
}

/** Finds the images before and after one in the list; none for an image that is in no list. */
export function createNeighbours(
  images: Pick<ImageStore, 'list' | 'newer'>,
  rules: AudienceRules,
  now: () => number,
) {
  const shown = (image: ImageRecord | null | undefined) => (image && !isOver(image, now()) ? image : null);
  return async (image: ImageRecord) => {
    if (rules.listing === 'off' || visibilityOf(image) !== 'public') return { newer: null, older: null };
    const [newer, behind] = await Promise.all([
      images.newer(image),
      images.list({ offset: 0, limit: 1, after: image }),
    ]);
    return { newer: shown(newer), older: shown(behind.items[0]) };
  };
}
