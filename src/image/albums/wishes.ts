import { type Static, Type } from '@sinclair/typebox';
import { invalidParameter, message } from '../../errors.ts';
import { integer, listOf, nullable, oneOf, text } from '../../lib/schema.ts';
import { type AudienceRules, demandListed } from '../records/audience.ts';
import { ID_PATTERN, TOKEN_PATTERN } from '../records/ids.ts';
import { cleanText } from '../upload/filename.ts';
import { MAX_TITLE, MOST_PICTURES } from './album.ts';

/** Maximum number of pictures that one request adds. */
export const MOST_ADDED = 100;

const VISIBILITIES = ['public', 'unlisted'] as const;

const id = text('ID of an image.', { pattern: ID_PATTERN.source });

const facts = {
  title: Type.Optional(text(`At most ${MAX_TITLE} characters. Can be empty.`)),
  visibility: Type.Optional(
    oneOf(
      VISIBILITIES,
      '`public`: search engines may list the page. `unlisted`: they may not. Each image keeps its own visibility. ' +
        'By default as for images on this server.',
    ),
  ),
};

/** The properties of an album that can be changed. */
export const albumChangeBody = Type.Object(
  {
    ...facts,
    cover: Type.Optional(
      nullable(id, 'ID of the image that stands for the album; `null` for the first one.'),
    ),
    images: Type.Optional(
      listOf(id, 'IDs of the images to put first, in this order. The others follow in their current order.', {
        maxItems: MOST_PICTURES,
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);

const additions = Type.Array(
  Type.Object({
    id,
    delete_token: text('The `delete_token` of its upload.', { pattern: TOKEN_PATTERN.source }),
  }),
  { minItems: 1, maxItems: MOST_ADDED },
);

/** The options of a new album, with existing pictures to begin with. */
export const albumBody = Type.Object(
  { ...facts, images: Type.Optional(additions) },
  { additionalProperties: false },
);

/** Existing pictures to add to an album. */
export const additionBody = Type.Object({ images: additions }, { additionalProperties: false });

export const inviteBody = Type.Object(
  {
    expires_in: Type.Optional(text('When it expires: after `10m` to `1y`.', { default: '7d' })),
    max: Type.Optional(
      integer('How many pictures it allows.', { minimum: 1, maximum: MOST_PICTURES, default: 100 }),
    ),
  },
  { additionalProperties: false },
);

export type InviteWish = Static<typeof inviteBody>;
export type AlbumWish = Static<typeof albumBody>;
export type AlbumChangeWish = Static<typeof albumChangeBody>;
export type Addition = Static<typeof additionBody>['images'][number];

/**
 * Returns title and visibility as they are stored, if given.
 * @throws {AppError} `invalid_parameter` for a title that is too long, or a visibility that the operator does not
 * allow.
 */
export function factsOf(
  { title, visibility }: Pick<AlbumWish, 'title' | 'visibility'>,
  rules: AudienceRules,
): { title?: string; unlisted?: 0 | 1 } {
  const cleaned = title === undefined ? undefined : cleanText(title.replace(/\s+/g, ' '));
  if (cleaned !== undefined && [...cleaned].length > MAX_TITLE) {
    throw invalidParameter('title', message('title must be at most {most} characters.', { most: MAX_TITLE }));
  }
  demandListed(visibility ?? null, rules, false);
  return {
    ...(cleaned !== undefined && { title: cleaned }),
    ...(visibility !== undefined && { unlisted: visibility === 'unlisted' ? 1 : 0 }),
  };
}
