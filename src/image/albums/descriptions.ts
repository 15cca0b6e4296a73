import { Type } from '@sinclair/typebox';
import type { Description } from '../../http/describe.ts';
import { MOST_PICTURES } from './album.ts';
import { albumAnswer, albumDeleteAnswer, albumFactsAnswer, newAlbumAnswer } from './schemas.ts';
import { additionBody, albumBody, albumChangeBody, MOST_ADDED } from './wishes.ts';

const tag = 'Image host';
const text = Type.String();
const file = Type.String({ format: 'binary' });
const token = {
  name: 'X-Album-Token',
  in: 'header',
  description: 'Token of the album.',
  schema: text,
} as const;
const json = (schema: typeof albumBody | typeof albumChangeBody | typeof additionBody) => ({
  required: true,
  content: { 'application/json': { schema } },
});

/** Descriptions of the album routes, by route. */
export const albumDetails = {
  create: {
    id: 'createAlbum',
    tag,
    summary: 'Create an album',
    description:
      'An album shows images under one link, in order. To add an image, upload it with `album`; an album holds ' +
      `at most ${MOST_PICTURES}. Each image keeps its own visibility, password, views and expiry. Empty albums are deleted ` +
      'after `retention_days` to twice that. Counts as an upload.',
    requestBody: {
      content: {
        'application/json': { schema: albumBody, example: { title: 'Harbour in winter' } },
        'application/x-www-form-urlencoded': { schema: albumBody },
        'multipart/form-data': { schema: albumBody },
      },
    },
    answers: {
      201: {
        description: 'The album exists. `Location` is its page.',
        ...newAlbumAnswer,
        headers: { Location: { description: 'URL of the page of the album.', schema: text } },
      },
    },
    errors: [400, 401, 403, 413, 507],
  },

  show: {
    id: 'getAlbum',
    tag,
    summary: 'Get an album',
    description:
      'Lists the images that still exist. Protected images are `locked` and show only their link. Every 100 ' +
      'images count as one more read.',
    answers: { 200: { description: 'One page of results. Pages past the end are empty.', ...albumAnswer } },
    errors: [400, 404],
  },

  change: {
    id: 'changeAlbum',
    tag,
    summary: 'Change the title, visibility or order of an album',
    description: 'Needs the token of the album. Counts as an upload.',
    parameters: [token],
    requestBody: json(albumChangeBody),
    answers: { 200: { description: 'The changed album.', ...albumFactsAnswer } },
    errors: [400, 403, 404, 413],
  },

  remove: {
    id: 'deleteAlbum',
    tag,
    summary: 'Delete an album',
    description:
      'Needs the token of the album or the administrator. The images stay. With `images=delete`, those that the caller could ' +
      'delete with `DELETE /api/delete/<id>` are deleted too: all of them for the administrator, otherwise those uploaded from ' +
      'the same address and the one whose delete token is sent. The token of an album gives no right to the images of others.',
    parameters: [
      token,
      { name: 'X-Delete-Token', in: 'header', description: 'Delete token of an image.', schema: text },
    ],
    answers: { 200: { description: 'The album is deleted.', ...albumDeleteAnswer } },
    errors: [400, 403, 404],
  },

  add: {
    id: 'addToAlbum',
    tag,
    summary: 'Add stored images to an album',
    description: `Needs the token of the album and the delete token of each image. Adds up to ${MOST_ADDED} at once, all or none. Counts as an upload.`,
    parameters: [token],
    requestBody: json(additionBody),
    answers: { 200: { description: 'The changed album.', ...albumFactsAnswer } },
    errors: [400, 403, 404, 409, 410, 413],
  },

  takeOut: {
    id: 'takeOutOfAlbum',
    tag,
    summary: 'Remove an image from an album',
    description:
      'The image itself stays. Needs the token of the album, the delete token of the image, or the administrator.',
    parameters: [
      token,
      { name: 'X-Delete-Token', in: 'header', description: 'Delete token of the image.', schema: text },
    ],
    answers: { 200: { description: 'The changed album.', ...albumFactsAnswer } },
    errors: [403, 404],
  },
  picture: {
    id: 'getAlbumPicturePage',
    tag,
    summary: 'Get the page of an image of an album',
    description:
      'Like `/i/<id>`, with links to the previous and the next image of the album. Every 100 images of the album count as ' +
      'one more read.',
    answers: { 200: { description: 'The page.', content: { 'text/html': { schema: text } } } },
    errors: [401, 404, 410],
  },

  page: {
    id: 'getAlbumPage',
    tag,
    summary: 'Get the page of an album, or a ZIP file',
    description:
      '`<id>` is the page. `<id>.zip` holds all images that the visitor can see, as stored and in ' +
      'order. Protected images are included once the browser has opened them with their passwords; ' +
      'images with `max_views` never are. Each image in the ZIP file counts as a read.',
    answers: {
      200: {
        description: 'The page or the ZIP file, which is streamed.',
        content: { 'text/html': { schema: text }, 'application/zip': { schema: file } },
      },
    },
    errors: [400, 404],
  },
} satisfies Record<string, Description>;
