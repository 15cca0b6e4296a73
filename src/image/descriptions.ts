import { Type } from '@sinclair/typebox';
import { type Answer, describe } from '../http/describe.ts';
import { oneOf } from '../lib/schema.ts';
import { THUMBNAIL_WIDTHS } from './blob-keys.ts';
import { changeBody } from './change.ts';
import {
  changeAnswer,
  cleanupAnswer,
  deleteAnswer,
  infoAnswer,
  listAnswer,
  searchAnswer,
  uploadAnswer,
  uploadsAnswer,
} from './schemas.ts';
import { MAX_FILES } from './upload/multipart.ts';
import { uploadOptions } from './upload/upload-options.ts';
import { urlField } from './upload/url-order.ts';

const tag = 'Image host';
const file = Type.String({ format: 'binary', description: 'The image file.' });
const text = Type.String();
const page: Answer = { description: 'A page for people.', content: { 'text/html': { schema: text } } };

const password = [
  { name: 'X-Image-Password', in: 'header', description: 'Password of a protected image.', schema: text },
  { name: 'password', in: 'query', description: 'The same; but it may end up in logs.', schema: text },
] satisfies Parameters<typeof describe>[0]['parameters'];

const albumToken = {
  name: 'X-Album-Token',
  in: 'header' as const,
  description: 'Token of the album that `album` names.',
  schema: text,
};

/** How the routes of the image host are described, by route. */
export const details = {
  upload: describe({
    id: 'uploadImage',
    tag,
    summary: 'Store an image',
    description:
      'Takes a form with the file in the field `image`, or the bytes of the file as the body, whatever its ' +
      'content type says; the options of a raw body are query parameters with the names of the fields. ' +
      'Larger images are scaled down to `max_width` and `max_height`, never up. A form may bring up to ' +
      `${MAX_FILES} files in fields named \`image\`, together as large as one may be; they are answered as \`results\`. A body in JSON has the \`url\` of a ` +
      'picture, which the server fetches where `IMAGE_FROM_URL` allows it, and the options.',
    requestBody: {
      required: true,
      content: {
        'multipart/form-data': { schema: Type.Composite([Type.Object({ image: file }), uploadOptions]) },
        'application/octet-stream': { schema: file },
        'application/json': {
          schema: Type.Composite([Type.Object({ url: urlField }), uploadOptions]),
          example: { url: 'https://img.example/photos/harbour.jpg' },
        },
      },
    },
    parameters: [
      ...Object.entries(Type.Omit(uploadOptions, ['album_token']).properties).map(([name, schema]) => ({
        name,
        in: 'query' as const,
        description: schema.description ?? name,
        schema,
      })),
      albumToken,
    ],
    answers: {
      201: {
        description: 'The image is stored; `Location` is its page. Of several, at least one is stored.',
        schema: Type.Union([uploadAnswer.schema, uploadsAnswer.schema]),
        example: uploadAnswer.example,
        headers: { Location: { description: 'Page of the image.', schema: text } },
      },
      202: {
        description: 'The picture is kept, but nobody sees it until the administrator has: `review` is true.',
        ...uploadAnswer,
      },
      303: {
        description: 'The same for a form that a browser sends: with `text/html` in `Accept`.',
        headers: { Location: { description: 'Page of the image.', schema: text } },
      },
    },
    errors: [400, 401, 403, 404, 409, 413, 415, 422, 507],
  }),

  info: describe({
    id: 'getImageInfo',
    tag,
    summary: 'Facts and links of an image',
    parameters: password,
    answers: { 200: { description: 'The image.', ...infoAnswer } },
    errors: [401, 404, 410],
  }),

  list: describe({
    id: 'listImages',
    tag,
    summary: 'Public images, newest first',
    answers: { 200: { description: 'One page; past the end an empty one.', ...listAnswer } },
    errors: [400],
  }),

  search: describe({
    id: 'searchImages',
    tag,
    summary: 'Public images by file name, id or format',
    answers: { 200: { description: 'One page, newest first.', ...searchAnswer } },
    errors: [400],
  }),

  change: describe({
    id: 'changeImage',
    tag,
    summary: 'Change who sees an image, for how long, or its name',
    description:
      'Allowed with its delete token in a header alone, and counted as an upload. A new password ends the cookies of the old one.',
    parameters: [
      { name: 'X-Delete-Token', in: 'header', description: 'Answer of the upload.', schema: text },
    ],
    requestBody: { required: true, content: { 'application/json': { schema: changeBody } } },
    answers: { 200: { description: 'The image as it is now.', ...changeAnswer } },
    errors: [400, 403, 404, 410, 413],
  }),

  remove: describe({
    id: 'deleteImage',
    tag,
    summary: 'Delete an image',
    description: 'Allowed from the address that uploaded it, and from anywhere with its delete token.',
    parameters: [
      { name: 'delete_token', in: 'query', description: 'Answer of the upload.', schema: text },
      { name: 'token', in: 'query', description: 'The same.', schema: text },
      { name: 'X-Delete-Token', in: 'header', description: 'The same.', schema: text },
    ],
    answers: { 200: { description: 'The image is gone.', ...deleteAnswer } },
    errors: [403, 404],
  }),

  cleanup: describe({
    id: 'cleanUpImages',
    tag,
    summary: 'Remove images that have not been opened for long',
    description:
      'The server also does so by itself. Calls during a cleanup get its result. If `ADMIN_TOKEN` is not set, nothing is removed ' +
      'within ten minutes of a complete cleanup.',
    answers: { 200: { description: 'What was removed.', ...cleanupAnswer } },
    errors: [401, 409],
    admin: true,
  }),

  file: describe({
    id: 'getImage',
    tag,
    summary: 'An image, or its page',
    description:
      '`/i/<id>` is the page, `/i/<id>.<extension>` the file itself, with `ETag`, `Range` and a day in caches. ' +
      'A protected image needs its password: in the header, the query, as Basic authentication with any user name, ' +
      'or as the cookie that the form on the page sets.',
    parameters: [
      ...password,
      {
        name: 'w',
        in: 'query',
        description: 'Width of a smaller version, in pixels; never larger than the image.',
        schema: oneOf(THUMBNAIL_WIDTHS.map(String)),
      },
      {
        name: 'auto',
        in: 'query',
        description:
          'With `/i/<id>`: the picture itself, as AVIF, WebP or JPEG, whichever `Accept` names and has the fewest bytes.',
        schema: oneOf(['1']),
      },
      { name: 'download', in: 'query', description: '`1`: to be saved.', schema: oneOf(['1']) },
      { name: 'Range', in: 'header', description: 'One range of bytes.', schema: text },
      { name: 'If-None-Match', in: 'header', description: 'A known `ETag`.', schema: text },
    ],
    answers: {
      200: {
        description: 'The file or the page.',
        content: { 'image/*': { schema: file }, 'text/html': { schema: text } },
      },
      206: { description: 'A part of the file.', content: { 'image/*': { schema: file } } },
      304: { description: 'The file is known already.' },
      303: { description: 'A direct link without the password, in a browser: to the page.' },
      401: page,
      410: page,
      429: page,
    },
    errors: [400, 401, 404, 410, 416],
  }),

  unlock: describe({
    id: 'unlockImage',
    tag,
    summary: 'Open a protected image from its page',
    requestBody: {
      required: true,
      content: {
        'application/x-www-form-urlencoded': { schema: Type.Object({ password: Type.Optional(text) }) },
      },
    },
    answers: {
      200: { ...deleteAnswer, description: 'It is right; the answer brings a cookie that opens the image.' },
      303: { description: 'The same for browsers: to the page, with the cookie.' },
      401: page,
      429: page,
    },
    errors: [400, 401, 403, 404, 413],
  }),

  qrCode: describe({
    id: 'getImageQrCode',
    tag,
    summary: 'A QR code of the link to the page of an image',
    answers: {
      200: { description: 'Black on white.', content: { 'image/svg+xml': { schema: text } } },
    },
    errors: [404, 410],
  }),

  lock: describe({
    id: 'lockImage',
    tag,
    summary: 'Lock a protected image in this browser again',
    answers: { 303: { description: 'To the page; the cookie that opened the image is taken away.' } },
    errors: [403, 404],
  }),

  askDelete: describe({
    id: 'askToDeleteImage',
    tag,
    summary: 'Page that asks for confirmation',
    parameters: [{ name: 'token', in: 'query', description: 'The delete token.', schema: text }],
    answers: { 200: page },
    errors: [403, 404],
  }),

  confirmDelete: describe({
    id: 'confirmDeleteImage',
    tag,
    summary: 'Delete an image from that page',
    requestBody: {
      required: true,
      content: {
        'application/x-www-form-urlencoded': { schema: Type.Object({ token: Type.Optional(text) }) },
      },
    },
    answers: { 200: page },
    errors: [400, 403, 404, 413],
  }),

  sharex: describe({
    id: 'getShareXUploader',
    tag,
    summary: 'Custom uploader for ShareX',
    answers: {
      200: { description: 'A `.sxcu` file.', content: { 'application/json': { schema: Type.Object({}) } } },
    },
  }),
};
