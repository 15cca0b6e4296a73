import type { Static } from '@sinclair/typebox';
import { invalidParameter } from '../../errors.ts';
import { formatTimestamp } from '../../lib/clock.ts';
import type { ImageRecord } from '../image.ts';
import { pageUrl, rawUrl } from '../records/links.ts';
import { audience, facts } from '../views.ts';
import { type AlbumRecord, picturesOf } from './album.ts';
import type { Invite, Invites } from './invites.ts';
import type { albumAnswer, albumFactsAnswer, invitesAnswer } from './schemas.ts';

/** `base`: scheme, host and base path, without a trailing slash. */
export function albumUrl(base: string, id: string): string {
  return `${base}/a/${id}`;
}

/** Returns what is shown of an album. */
export function albumView(base: string, album: AlbumRecord) {
  const { id, title, unlisted, cover, createdAt } = album;
  const url = albumUrl(base, id);
  return {
    id,
    url,
    zip_url: `${url}.zip`,
    title,
    visibility: unlisted === 1 ? ('unlisted' as const) : ('public' as const),
    // One that was taken out again is not for those who see the album.
    cover: picturesOf(album).includes(cover) ? cover : null,
    created_at: formatTimestamp(createdAt),
  };
}

export function inviteView({ id, max, used, expiresAt }: Invite) {
  return { id, max, used, expires_at: formatTimestamp(expiresAt) };
}

export function invitesView({
  invites,
  pictures,
}: Awaited<ReturnType<Invites['list']>>): Static<typeof invitesAnswer.schema> {
  return { success: true, invites: invites.map(inviteView), images: pictures };
}

/** Returns an album after a change. */
export function albumFactsView(
  base: string,
  album: AlbumRecord,
  total: number,
): Static<typeof albumFactsAnswer.schema> {
  return { success: true, ...albumView(base, album), total };
}

/**
 * Returns where the page after a picture begins, even if the picture was deleted meanwhile.
 * @throws {AppError} `invalid_parameter` if it was taken out of the album.
 */
function placeBehind(album: AlbumRecord, pictures: readonly ImageRecord[], id: string): number {
  const ids = picturesOf(album);
  const place = ids.indexOf(id);
  if (place < 0) {
    throw invalidParameter(
      'cursor',
      'The image of the cursor is no longer in this album. Start again at page 1.',
    );
  }
  const behind = new Set(ids.slice(place + 1));
  const first = pictures.findIndex((image) => behind.has(image.id));
  return first < 0 ? pictures.length : first;
}

/** Returns one page of an album. Locked pictures show only that they exist. */
export function albumPageView(
  base: string,
  album: AlbumRecord,
  pictures: readonly ImageRecord[],
  asked: { page: number; after: string | null; perPage: number; isLocked: (image: ImageRecord) => boolean },
): Static<typeof albumAnswer.schema> {
  const { page, after, perPage, isLocked } = asked;
  const from = after === null ? (page - 1) * perPage : placeBehind(album, pictures, after);
  const shown = pictures.slice(from, from + perPage);
  return {
    ...albumFactsView(base, album, pictures.length),
    page,
    per_page: perPage,
    pages: Math.ceil(pictures.length / perPage),
    next: from + perPage < pictures.length ? (shown.at(-1)?.id ?? null) : null,
    images: shown.map((image) =>
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
            // A picture with limited views must not be shown here, not even as a thumbhash.
            thumbhash: image.maxViews === null ? image.thumbhash : null,
          },
    ),
  };
}
