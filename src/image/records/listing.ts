import { type ImageRecord, visibilityOf } from '../image.ts';
import type { AccessPlace, ImageStore, Page, Place } from '../store.ts';
import { type AudienceRules, isOver } from './audience.ts';

/** Selects a page of the public images; with `text`, of those whose name, ID or format contains it. */
interface ListQuery {
  text?: string;
  /** Counted from 1. Ignored if `after` is set. */
  page: number;
  perPage: number;
  /** Start after this position. */
  after?: Place;
}

/** Selects a page of all images. */
type RecentQuery = Pick<ListQuery, 'page' | 'perPage'> & { after?: AccessPlace };

export function createListings(
  images: Pick<ImageStore, 'list' | 'newer' | 'recent' | 'summary'>,
  rules: AudienceRules,
  now: () => number,
) {
  const shown = (image: ImageRecord | null | undefined) => (image && !isOver(image, now()) ? image : null);

  return {
    /** Lists public images, newest first; with `text`, those whose name, ID or format contains it. */
    async list({ text, page, perPage, after }: ListQuery): Promise<Page<ImageRecord>> {
      if (rules.listing === 'off') return { items: [], total: 0, exact: true, next: null };
      const found = await images.list({
        offset: after === undefined ? (page - 1) * perPage : 0,
        limit: perPage,
        ...(after && { after }),
        ...(text !== undefined && { text }),
      });
      // Images that have just expired count until they are removed.
      return { ...found, items: found.items.filter(shown) };
    },

    /** Returns the images right before and after one in that list; `null` if there is none, or it is not in the list. */
    async beside(image: ImageRecord) {
      if (rules.listing === 'off' || visibilityOf(image) !== 'public') return { newer: null, older: null };
      const [newer, behind] = await Promise.all([
        images.newer(image),
        images.list({ offset: 0, limit: 1, after: image }),
      ]);
      return { newer: shown(newer), older: shown(behind.items[0]) };
    },

    /** Lists all images, the last accessed or stored first. */
    async recent({ page, perPage, after }: RecentQuery) {
      const offset = after === undefined ? (page - 1) * perPage : 0;
      const found = await images.recent({ offset, limit: perPage + 1, ...(after && { after }) });
      const items = found.slice(0, perPage);
      const next: AccessPlace | null = found.length > perPage ? (items.at(-1) ?? null) : null;
      return { items, next };
    },

    summary: () => images.summary(),
  };
}
