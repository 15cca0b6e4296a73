import { Type } from '@sinclair/typebox';
import { describe } from '../../http/describe.ts';
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

/** How the routes of albums are described, by route. */
export const albumDetails = {
  create: describe({
    id: 'createAlbum',
    tag,
    summary: 'Make an album',
    description:
      'Puts pictures under one link, in order. Upload with `album` to add pictures, ' +
      `at most ${MOST_PICTURES}. Each keeps its own visibility, password, views and expiry. An album without pictures ` +
      'is removed after `retention_days`, or at most twice that. Counts as an upload.',
    requestBody: {
      content: {
        'application/json': { schema: albumBody, example: { title: 'Harbour in winter' } },
        'application/x-www-form-urlencoded': { schema: albumBody },
        'multipart/form-data': { schema: albumBody },
      },
    },
    answers: {
      201: {
        description: 'The album is there; `Location` is its page.',
        ...newAlbumAnswer,
        headers: { Location: { description: 'Page of the album.', schema: text } },
      },
    },
    errors: [400, 401, 403, 413, 507],
  }),

  show: describe({
    id: 'getAlbum',
    tag,
    summary: 'The pictures of an album',
    description:
      'Lists the pictures that still exist. Protected ones are `locked`: only their link is shown. Every full hundred ' +
      'of pictures counts as one more read.',
    answers: { 200: { description: 'One page; past the end an empty one.', ...albumAnswer } },
    errors: [400, 404],
  }),

  change: describe({
    id: 'changeAlbum',
    tag,
    summary: 'Change the title, visibility or order of an album',
    description: 'Allowed with its token. Counted as an upload.',
    parameters: [token],
    requestBody: json(albumChangeBody),
    answers: { 200: { description: 'The album as it is now.', ...albumFactsAnswer } },
    errors: [400, 403, 404, 413],
  }),

  remove: describe({
    id: 'deleteAlbum',
    tag,
    summary: 'Delete an album',
    description:
      'Allowed with its token and to the administrator. Its pictures stay, unless `images=delete` asks for them to be ' +
      'deleted, too: the token of an album gives that right.',
    parameters: [token],
    answers: { 200: { description: 'It is gone.', ...albumDeleteAnswer } },
    errors: [400, 403, 404],
  }),

  add: describe({
    id: 'addToAlbum',
    tag,
    summary: 'Put stored pictures into an album',
    description: `Allowed with the token of the album and the delete token of each picture; up to ${MOST_ADDED} at once, all or none. Counted as an upload.`,
    parameters: [token],
    requestBody: json(additionBody),
    answers: { 200: { description: 'The album as it is now.', ...albumFactsAnswer } },
    errors: [400, 403, 404, 409, 410, 413],
  }),

  takeOut: describe({
    id: 'takeOutOfAlbum',
    tag,
    summary: 'Take a picture out of an album',
    description:
      'The picture itself stays. Allowed with the token of the album, with the delete token of the picture, and to the administrator.',
    parameters: [
      token,
      { name: 'X-Delete-Token', in: 'header', description: 'Token of the picture.', schema: text },
    ],
    answers: { 200: { description: 'The album as it is now.', ...albumFactsAnswer } },
    errors: [403, 404],
  }),
  page: describe({
    id: 'getAlbumPage',
    tag,
    summary: 'Page of an album, or its pictures as a ZIP file',
    description:
      '`<id>` is a page for people, `<id>.zip` a file with all pictures that the visitor may see, as they are stored and in ' +
      'their order. Protected pictures are shown, and are in the file, where the browser has opened them with their passwords; ' +
      'those with `max_views` are never. Each picture in the file counts as a read of the client.',
    answers: {
      200: {
        description: 'The page, or the file, which is made while it is sent.',
        content: { 'text/html': { schema: text }, 'application/zip': { schema: file } },
      },
    },
    errors: [400, 404],
  }),
};
