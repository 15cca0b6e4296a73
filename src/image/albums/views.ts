import type { Static } from '@sinclair/typebox';
import { formatTimestamp } from '../../lib/clock.ts';
import type { ImageRecord } from '../image.ts';
import { pageUrl, rawUrl } from '../links.ts';
import { audience, facts } from '../views.ts';
import type { AlbumRecord } from './album.ts';
import type { albumAnswer, albumFactsAnswer, newAlbumAnswer } from './schemas.ts';

/** `base`: scheme, host and base path, without a trailing slash. */
export function albumUrl(base: string, id: string): string {
  return `${base}/a/${id}`;
}

function albumView(base: string, { id, title, unlisted, createdAt }: AlbumRecord) {
  const url = albumUrl(base, id);
  return {
    id,
    url,
    zip_url: `${url}.zip`,
    title,
    visibility: unlisted === 1 ? ('unlisted' as const) : ('public' as const),
    created_at: formatTimestamp(createdAt),
  };
}

export function newAlbumView(
  base: string,
  { album, token }: { album: AlbumRecord; token: string },
): Static<typeof newAlbumAnswer.schema> {
  return { success: true, ...albumView(base, album), token };
}

/** An album as it is after a change. */
export function albumFactsView(
  base: string,
  album: AlbumRecord,
  total: number,
): Static<typeof albumFactsAnswer.schema> {
  return { success: true, ...albumView(base, album), total };
}

/** One page of an album. Of what is locked, only that it is there is told. */
export function albumPageView(
  base: string,
  album: AlbumRecord,
  pictures: readonly ImageRecord[],
  asked: { page: number; perPage: number; isLocked: (image: ImageRecord) => boolean },
): Static<typeof albumAnswer.schema> {
  const { page, perPage, isLocked } = asked;
  return {
    ...albumFactsView(base, album, pictures.length),
    page,
    per_page: perPage,
    pages: Math.ceil(pictures.length / perPage),
    images: pictures.slice((page - 1) * perPage, page * perPage).map((image) =>
      isLocked(image)
        ? {
            locked: true,
            id: image.id,
            url: pageUrl(base, image.id),
            visibility: 'protected',
          }
        : {
            locked: false,
            ...facts(image),
            url: pageUrl(base, image.id),
            raw_url: rawUrl(base, image),
            ...audience(image),
            // What may be seen only so often must not be seen in small here.
            thumbhash: image.maxViews === null ? image.thumbhash : null,
          },
    ),
  };
}
