import { Type } from '@sinclair/typebox';
import { type Description, header, location } from '../../http/describe.ts';
import { MOST_PICTURES } from './album.ts';
import { MOST_INVITES } from './invites.ts';
import {
  albumAnswer,
  albumDeleteAnswer,
  albumFactsAnswer,
  invitesAnswer,
  newAlbumAnswer,
  newInviteAnswer,
} from './schemas.ts';
import { albumBody, MOST_ADDED } from './wishes.ts';

const text = Type.String();
const file = Type.String({ format: 'binary' });
const token = header('X-Album-Token', 'Token of the album.');
/** Descriptions of the album routes, by route. */
export const albumDetails = {
  create: {
    id: 'createAlbum',
    summary: 'Create an album',
    description:
      'An album shows images under one link, in order. To add an image, upload it with `album`; an album holds ' +
      `at most ${MOST_PICTURES}. Each image keeps its own visibility, password, views and expiry. Empty albums are deleted ` +
      'after `retention_days` to twice that. Counts as an upload.',
    requestBody: {
      content: {
        'application/json': { schema: albumBody, example: { title: 'Harbour in winter' } },
      },
    },
    answers: {
      201: {
        description: 'The album exists. `Location` is its page.',
        ...newAlbumAnswer,
        headers: location('URL of the page of the album.'),
      },
    },
    errors: [400, 401, 403, 413, 507],
  },

  show: {
    id: 'getAlbum',
    summary: 'Get an album',
    description:
      'Lists the images that still exist. Protected images are `locked` and show only their link. Every 100 ' +
      'images count as one more read.',
    answers: { 200: { description: 'One page of results. Pages past the end are empty.', ...albumAnswer } },
    errors: [400, 404],
  },

  change: {
    id: 'changeAlbum',
    summary: 'Change the title, visibility or order of an album',
    description: 'Needs the token of the album. Counts as an upload.',
    parameters: [token],
    answers: { 200: { description: 'The changed album.', ...albumFactsAnswer } },
    errors: [400, 403, 404, 413],
  },

  remove: {
    id: 'deleteAlbum',
    summary: 'Delete an album',
    description:
      'Needs the token of the album or the administrator. The images stay. With `images=delete`, those that the caller could ' +
      'delete with `DELETE /api/delete/<id>` are deleted too: all of them for the administrator, otherwise those uploaded from ' +
      'the same address and the one whose delete token is sent. Of the images of others, the token of an album deletes only what guests have added.',
    parameters: [token, header('X-Delete-Token', 'Delete token of an image.')],
    answers: { 200: { description: 'The album is deleted.', ...albumDeleteAnswer } },
    errors: [400, 403, 404],
  },

  add: {
    id: 'addToAlbum',
    summary: 'Add stored images to an album',
    description: `Needs the token of the album and the delete token of each image. Adds up to ${MOST_ADDED} at once, all or none. Counts as an upload.`,
    parameters: [token],
    answers: { 200: { description: 'The changed album.', ...albumFactsAnswer } },
    errors: [400, 403, 404, 409, 410, 413],
  },

  takeOut: {
    id: 'takeOutOfAlbum',
    summary: 'Remove an image from an album',
    description:
      'The image itself stays. Needs the token of the album, the delete token of the image, or the administrator. With ' +
      '`image=delete`, an image that a guest has added is deleted, which needs the token of the album.',
    parameters: [token, header('X-Delete-Token', 'Delete token of the image.')],
    answers: { 200: { description: 'The changed album.', ...albumFactsAnswer } },
    errors: [403, 404],
  },
  invite: {
    id: 'inviteToAlbum',
    summary: 'Invite guests to an album',
    description:
      'Returns a link to a page with a QR code, on which anyone can add images to the album, and nothing else. Their images are ' +
      'unlisted and without metadata. An album has at most ' +
      `${MOST_INVITES} invitations at a time. With UPLOAD=token, an invitation holds as long as the token of its maker. Needs the token of the ` +
      'album. Counts as an upload.',
    parameters: [token],
    answers: { 201: { description: 'The invitation.', ...newInviteAnswer } },
    errors: [400, 401, 403, 404, 409, 413],
  },

  invites: {
    id: 'listInvites',
    summary: 'List the invitations of an album',
    description: 'Needs the token of the album.',
    parameters: [token],
    answers: { 200: { description: 'The invitations.', ...invitesAnswer } },
    errors: [403, 404],
  },

  revoke: {
    id: 'revokeInvite',
    summary: 'Revoke an invitation',
    description: 'Its link stops working at once. Images that came by it stay. Needs the token of the album.',
    parameters: [token],
    answers: { 200: { description: 'The invitations that are left.', ...invitesAnswer } },
    errors: [403, 404],
  },

  guestPage: {
    id: 'getGuestPage',
    summary: 'Get the page of an invitation',
    description: 'A form for images, and a QR code of its own address. It works without scripts.',
    answers: { 200: { description: 'The page.', content: { 'text/html': { schema: text } } } },
    errors: [400, 403, 404],
  },

  addAsGuest: {
    id: 'addAsGuest',
    summary: 'Add images to an album as a guest',
    description:
      'Like `POST /api/upload`, without options and without a token. Every image counts against the invitation.',
    requestBody: {
      required: true,
      content: { 'multipart/form-data': { schema: Type.Object({ image: file }) } },
    },
    answers: {
      201: {
        description: 'The images are stored and in the album.',
        content: { 'application/json': { schema: Type.Object({}) }, 'text/html': { schema: text } },
      },
    },
    errors: [400, 403, 404, 409, 413, 415, 422, 503, 507],
  },

  picture: {
    id: 'getAlbumPicturePage',
    summary: 'Get the page of an image of an album',
    description:
      'Like `/i/<id>`, with links to the previous and the next image of the album. Every 100 images of the album count as ' +
      'one more read.',
    answers: { 200: { description: 'The page.', content: { 'text/html': { schema: text } } } },
    errors: [401, 404, 410],
  },

  page: {
    id: 'getAlbumPage',
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
