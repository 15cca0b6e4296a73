import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { AppError, invalidParameter } from '../../errors.ts';
import { oneOf } from '../../lib/schema.ts';
import { type AudienceRules, demandListed } from '../audience.ts';
import { ID_PATTERN, TOKEN_PATTERN } from '../ids.ts';
import { cleanText } from '../upload/filename.ts';
import { MAX_TITLE, MOST_PICTURES } from './album.ts';

/** Maximum number of pictures that one request adds. */
export const MOST_ADDED = 100;

const VISIBILITIES = ['public', 'unlisted'] as const;

const id = Type.String({ pattern: ID_PATTERN.source, description: 'ID of an image.' });

const facts = {
  title: Type.Optional(
    Type.String({ description: `At most ${MAX_TITLE} characters. Can be empty.`, default: '' }),
  ),
  visibility: Type.Optional(
    oneOf(VISIBILITIES, {
      description:
        '`public`: search engines may list the page. `unlisted`: they may not. Each image keeps its own visibility. ' +
        'By default as for images on this server.',
    }),
  ),
};

/** The options of a new album. */
export const albumBody = Type.Object(facts, { additionalProperties: false });

/** The properties of an album that can be changed. */
export const albumChangeBody = Type.Object(
  {
    ...facts,
    images: Type.Optional(
      Type.Array(id, {
        maxItems: MOST_PICTURES,
        description:
          'IDs of the images to put first, in this order. The others follow in their current order.',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);

/** Existing pictures to add to an album. */
export const additionBody = Type.Object(
  {
    images: Type.Array(
      Type.Object({
        id,
        delete_token: Type.String({
          pattern: TOKEN_PATTERN.source,
          description: 'The `delete_token` of its upload.',
        }),
      }),
      { minItems: 1, maxItems: MOST_ADDED },
    ),
  },
  { additionalProperties: false },
);

export type AlbumWish = Static<typeof albumBody>;
export type AlbumChangeWish = Static<typeof albumChangeBody>;
export type Addition = Static<typeof additionBody>['images'][number];

const EXPECTED = {
  album: '{ "title", "visibility": "public" | "unlisted" }, both optional',
  change: '{ "title", "visibility": "public" | "unlisted", "images": [ids in order] }, of which at least one',
  addition: `{ "images": [{ "id", "delete_token" }] }, with 1 to ${MOST_ADDED} of them`,
};

/** @throws {AppError} `invalid_body` if the body is not valid. */
export function parseAlbum(body: unknown): AlbumWish {
  if (Value.Check(albumBody, body)) return body;
  throw new AppError('invalid_body', `The body must be ${EXPECTED.album}.`);
}

/** @throws {AppError} `invalid_body` if the body is invalid or changes nothing. */
export function parseAlbumChange(body: unknown): AlbumChangeWish {
  if (Value.Check(albumChangeBody, body)) return body;
  throw new AppError('invalid_body', `The body must be ${EXPECTED.change}.`);
}

/** @throws {AppError} `invalid_body` if the body does not name pictures with their tokens. */
export function parseAddition(body: unknown): readonly Addition[] {
  if (Value.Check(additionBody, body)) return body.images;
  throw new AppError('invalid_body', `The body must be ${EXPECTED.addition}.`);
}

/**
 * Returns title and visibility as they are stored, if given.
 * @throws {AppError} `invalid_parameter` for a title that is too long, or a visibility that the operator does not
 * allow.
 */
export function factsOf(
  { title, visibility }: AlbumWish,
  rules: AudienceRules,
): { title?: string; unlisted?: 0 | 1 } {
  const cleaned = title === undefined ? undefined : cleanText(title.replace(/\s+/g, ' '));
  if (cleaned !== undefined && [...cleaned].length > MAX_TITLE) {
    throw invalidParameter('title', `title must be at most ${MAX_TITLE} characters.`);
  }
  demandListed(visibility ?? null, rules, false);
  return {
    ...(cleaned !== undefined && { title: cleaned }),
    ...(visibility !== undefined && { unlisted: visibility === 'unlisted' ? 1 : 0 }),
  };
}
