import { type TProperties, Type } from '@sinclair/typebox';
import { type Answer, type Description, header, location, query } from '../http/describe.ts';
import { oneOf } from '../lib/schema.ts';
import { THUMBNAIL_WIDTHS } from './records/blob-keys.ts';
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

const file = Type.String({ format: 'binary', description: 'The image file.' });
const text = Type.String();
const page: Answer = { description: 'An HTML page.', content: { 'text/html': { schema: text } } };
const formWith = (fields: TProperties) => ({
  required: true,
  content: { 'application/x-www-form-urlencoded': { schema: Type.Object(fields) } },
});

const password = [
  header('X-Image-Password', 'Password of a protected image.'),
  query('password', 'The same in the query, where it may end up in logs.'),
];

/** Descriptions of the image routes, by route. */
export const details = {
  upload: {
    id: 'uploadImage',
    summary: 'Upload an image',
    description:
      'Send a form with the file in the field `image`, or the bytes of the file as the body with any ' +
      'content type and the options in the query. ' +
      'Images larger than `max_width` or `max_height` are scaled down. A form can have up to ' +
      `${MAX_FILES} files named \`image\`, which share the size limit of one upload; the response then has \`results\`. ` +
      'If `IMAGE_FROM_URL` allows it, the server can fetch the image itself: send JSON with `url` and the options.',
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
      ...Object.entries(Type.Omit(uploadOptions, ['album_token']).properties).map(([name, schema]) =>
        query(name, schema.description ?? name, schema),
      ),
      header('X-Album-Token', 'Token of the album in `album`.'),
      header(
        'Idempotency-Key',
        'A random text for each upload. Sent again within 10 minutes because the answer was lost, it is answered as before, and stored once, unless it was deleted since.',
      ),
    ],
    answers: {
      201: {
        description:
          'The image is stored, or at least one of several. `Location` is its page. A form with `text/html` in `Accept` ' +
          'gets a page of links.',
        schema: Type.Union([uploadAnswer.schema, uploadsAnswer.schema]),
        example: uploadAnswer.example,
        headers: location('URL of the page of the image.'),
      },
      202: {
        description: 'The image is hidden until the administrator approves it: `review` is true.',
        ...uploadAnswer,
      },
    },
    errors: [400, 401, 403, 404, 409, 413, 415, 422, 507],
  },

  info: {
    id: 'getImageInfo',
    summary: 'Get information about an image',
    parameters: password,
    answers: { 200: { description: 'The image.', ...infoAnswer } },
    errors: [401, 404, 410],
  },

  list: {
    id: 'listImages',
    summary: 'List public images, newest first',
    answers: { 200: { description: 'One page of results. Pages past the end are empty.', ...listAnswer } },
    errors: [400],
  },

  search: {
    id: 'searchImages',
    summary: 'Search public images',
    answers: { 200: { description: 'One page of matches, newest first.', ...searchAnswer } },
    errors: [400],
  },

  change: {
    id: 'changeImage',
    summary: 'Change an image',
    description:
      'Changes who can see the image, for how long, its name, title or alternative text. Needs the delete token in a header. Counts as an upload. Cookies for an old password stop working.',
    parameters: [header('X-Delete-Token', 'The `delete_token` of the upload.')],
    answers: { 200: { description: 'The changed image.', ...changeAnswer } },
    errors: [400, 403, 404, 410, 413],
  },

  remove: {
    id: 'deleteImage',
    summary: 'Delete an image',
    description: 'Allowed from the IP address of the upload, or from anywhere with the delete token.',
    parameters: [
      query('delete_token', 'The `delete_token` of the upload.'),
      query('token', 'The same under a shorter name.'),
      header('X-Delete-Token', 'The same as a header, which stays out of logs.'),
    ],
    answers: { 200: { description: 'The image is deleted.', ...deleteAnswer } },
    errors: [403, 404],
  },

  cleanup: {
    id: 'cleanUpImages',
    summary: 'Clean up idle images',
    description:
      'Deletes images without a view for `retention_days` in which the server ran. The server also does this on its own. Calls during a cleanup share its result. If `ADMIN_TOKEN` is not set, nothing is deleted ' +
      'within ten minutes of a complete cleanup.',
    answers: { 200: { description: 'The result of the cleanup.', ...cleanupAnswer } },
    errors: [403, 409],
  },

  file: {
    id: 'getImage',
    summary: 'Get an image or its page',
    description:
      '`/i/<id>` is the page. `/i/<id>.<extension>` is the file, with `ETag` and `Range`; caches may keep it for a day. ' +
      'A protected image needs its password: in the header, in the query, or as the cookie set by the form on its page.',
    parameters: [
      ...password,
      query(
        'w',
        'Width of a smaller version, in pixels. Images are never enlarged.',
        oneOf(THUMBNAIL_WIDTHS.map(String)),
      ),
      query(
        'auto',
        'With `/i/<id>`: return the image itself, as AVIF, WebP or JPEG, whichever is smallest and in `Accept`.',
        oneOf(['1']),
      ),
      query('download', '`1`: let the browser save the file.', oneOf(['1'])),
      header('Range', 'One byte range.'),
      header('If-None-Match', 'The `ETag` of an earlier response.'),
    ],
    answers: {
      200: {
        description: 'The file, or the page.',
        content: { 'image/*': { schema: file }, 'text/html': { schema: text } },
      },
      206: { description: 'Part of the file.', content: { 'image/*': { schema: file } } },
      304: { description: 'The file has not changed.' },
      303: { description: 'Sends a browser without the password from the file to the page.' },
      401: page,
      410: page,
      429: page,
    },
    errors: [400, 401, 404, 410, 416],
  },

  unlock: {
    id: 'unlockImage',
    summary: 'Open a protected image with its password',
    requestBody: formWith({ password: Type.Optional(text) }),
    answers: {
      200: {
        ...deleteAnswer,
        description: 'The password is correct. The response sets a cookie that opens the image.',
      },
      303: { description: 'The same for a browser, which is sent to the page.' },
      401: page,
      429: page,
    },
    errors: [400, 401, 403, 404, 413],
  },

  qrCode: {
    id: 'getImageQrCode',
    summary: 'Get a QR code of the link to an image',
    answers: {
      200: { description: 'The QR code, black on white.', content: { 'image/svg+xml': { schema: text } } },
    },
    errors: [404, 410],
  },

  preview: {
    id: 'getImagePreview',
    summary: 'Get what chats and forums show of the link to an image',
    description:
      'A JPEG of at most 1,280 pixels, named by `og:image`; an animation as it is stored. There is none of an image with limited views.',
    answers: { 200: { description: 'The file.', content: { 'image/*': { schema: text } } } },
    errors: [401, 404, 410],
  },

  view: {
    id: 'viewImage',
    summary: 'Get the file as the button on its page does',
    description:
      'Like `GET /i/<id>.<extension>`, but also sends an image with limited views to programs that look like previews of links.',
    answers: { 200: { description: 'The file.', content: { 'image/*': { schema: text } } } },
    errors: [401, 404, 410, 429],
  },

  askDelete: {
    id: 'askToDeleteImage',
    summary: 'Get the page that confirms a deletion',
    parameters: [query('token', 'The delete token.')],
    answers: { 200: page },
    errors: [403, 404],
  },

  confirmDelete: {
    id: 'confirmDeleteImage',
    summary: 'Delete an image from the confirmation page',
    requestBody: formWith({ token: Type.Optional(text) }),
    answers: { 200: page },
    errors: [400, 403, 404, 413],
  },

  sharex: {
    id: 'getShareXUploader',
    summary: 'Get a custom uploader for ShareX',
    answers: {
      200: { description: 'A `.sxcu` file.', content: { 'application/json': { schema: Type.Object({}) } } },
    },
  },
} satisfies Record<string, Description>;
