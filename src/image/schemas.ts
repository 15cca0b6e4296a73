import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import { Extent, PRIVATE_PARTS, UPLOAD_WARNING_CODES } from '../codec/convert/warnings.ts';
import { FORMATS } from '../codec/format.ts';
import { Original } from '../codec/workers/protocol.ts';
import { flag, integer, listOf, named, nullable, number, oneOf, text } from '../lib/schema.ts';
import { VISIBILITIES } from './image.ts';
import { CURSOR_PATTERN } from './records/cursor.ts';
import { MOST_COUNTED } from './store.ts';

/** Larger page sizes are reduced to this. */
export const MAX_PER_PAGE = 100;
export const DEFAULT_PER_PAGE = 20;

/** The parameters of lists in pages. `cursor`: what a cursor matches. */
export const pagingOf = (perPage: number, cursor: string) => ({
  page: Type.Optional(integer('Page number, from 1.', { minimum: 1, maximum: 1_000_000_000, default: 1 })),
  per_page: Type.Optional(
    integer(`Images per page. Values above ${MAX_PER_PAGE} count as ${MAX_PER_PAGE}.`, {
      minimum: 1,
      default: perPage,
    }),
  ),
  cursor: Type.Optional(
    text('The `next` of the last response, to get the page after it; `page` is ignored.', {
      pattern: cursor,
    }),
  ),
});

export const listQuery = Type.Object(pagingOf(DEFAULT_PER_PAGE, CURSOR_PATTERN));

export const searchQuery = Type.Object({
  q: text(
    'Words of the title, alternative text, file name, ID or format, or parts of them, in any order; the first 8 count. Case and accents are ignored.',
    { minLength: 1, maxLength: 255 },
  ),
  ...listQuery.properties,
});

export const success = Type.Literal(true);

export const facts = {
  id: text('ID of 12 letters and digits.'),
  filename: text('Name of the uploaded file.'),
  title: nullable(Type.String(), 'What its uploader calls it. null: the file name is shown.'),
  alt: nullable(Type.String(), 'Alternative text. null: it is the file name.'),
  format: oneOf(FORMATS, 'Format of the stored file.'),
  width: integer('Width in pixels.'),
  height: integer('Height in pixels.'),
  frames: integer('Number of frames; 1 for a still image.'),
  size: integer('Size of the stored file in bytes.'),
  created_at: text('`YYYY-MM-DD HH:MM:SS`, UTC.'),
};

export const addresses = {
  url: text('Link to the page.'),
  raw_url: text('Direct link to the file.'),
};

export const audience = {
  visibility: oneOf(VISIBILITIES, 'Who can see the image.'),
  expires_at: nullable(
    Type.String(),
    '`YYYY-MM-DD HH:MM:SS`, UTC, or `never`. null: deleted after `retention_days` without a view in which the server ran.',
  ),
  max_views: nullable(Type.Integer(), 'Number of views after which the image is deleted. null: no limit.'),
  views_left: nullable(Type.Integer(), 'Number of views left.'),
};

const snippets = {
  ...addresses,
  markdown: Type.String(),
  html: Type.String(),
  bbcode: Type.String(),
  protected: flag('Whether the image needs a password.'),
  ...audience,
};

export const preview = {
  thumbhash: nullable(
    Type.String(),
    'A blurred preview, as a ThumbHash in Base64. null for images from old versions.',
  ),
};
export const exampleHash = 'HBkSHYSIeHiPiHh8eJd4eTN0EEQG';

const lastAccess = {
  last_access: text('Last view, `YYYY-MM-DD HH:MM:SS`, UTC, to within an hour.'),
};

export const exampleFacts = {
  id: 'Zk3vQ8mT1xYb',
  filename: 'harbour.jpg',
  title: null,
  alt: null,
  format: 'webp',
  width: 1600,
  height: 1200,
  frames: 1,
  size: 184_220,
  created_at: '2026-01-31 08:05:09',
};
export const exampleAudience = { visibility: 'public', expires_at: null, max_views: null, views_left: null };
export const exampleLinks = {
  url: 'https://img.example/i/Zk3vQ8mT1xYb',
  raw_url: 'https://img.example/i/Zk3vQ8mT1xYb.webp',
  markdown: '![harbour.jpg](https://img.example/i/Zk3vQ8mT1xYb.webp)',
  html: '<img src="https://img.example/i/Zk3vQ8mT1xYb.webp" alt="harbour.jpg">',
  bbcode: '[img]https://img.example/i/Zk3vQ8mT1xYb.webp[/img]',
  protected: false,
  ...exampleAudience,
};
export const exampleToken = 'x4Jb0QmZr7TnYc2LkW9sVd6HfG3aPe1U';

const conversion = {
  location: flag('Whether the stored file says where the picture was taken.'),
  original: nullable(
    Original,
    'The uploaded file, and how it was converted. null for images from old versions.',
  ),
  warnings: listOf(
    Type.Object({
      code: oneOf(UPLOAD_WARNING_CODES, 'Code for programs.'),
      message: text('Message for people.'),
      from: Type.Optional(Extent),
      to: Type.Optional(Extent),
    }),
    'What differs from the request, such as quality lost in conversion. `resized` and `larger` have `from` and `to`, in pixels or bytes. Usually empty.',
  ),
};
const exampleConversion = {
  location: false,
  original: { format: 'jpeg', size: 412_880, width: 1600, height: 1200, kept: false, quality: 81 },
  warnings: [],
};

/** A response schema, with its name in the API description and an example. */
export function answer<T extends TProperties>(
  $id: string,
  properties: T,
  example: object,
): { schema: TObject<T>; example: object } {
  return { schema: named($id, properties), example };
}

export const uploadAnswer = answer(
  'UploadedImage',
  {
    success,
    ...facts,
    ...snippets,
    review: Type.Optional(
      Type.Literal(true, {
        description:
          'Present if the administrator has to approve the image first. Until then its links do not work.',
      }),
    ),
    album: Type.Optional(text('ID of the album that contains it.')),
    delete_token: text('Deletes the image from any address. Returned only here.'),
    delete_url: text('Link to a page that deletes the image after confirmation.'),
    removed: listOf(
      oneOf(PRIVATE_PARTS),
      'What was removed. `location`: where the picture was taken. `metadata`: any metadata. Empty with `strip_exif=false`.',
    ),
    ...conversion,
  },
  {
    success: true,
    ...exampleFacts,
    ...exampleLinks,
    delete_token: exampleToken,
    delete_url: `${exampleLinks.url}/delete?token=${exampleToken}`,
    removed: ['location', 'metadata'],
    ...exampleConversion,
  },
);

export const uploadsAnswer = answer(
  'UploadResults',
  {
    success,
    stored: integer('Number of stored files, at least 1.'),
    failed: integer('Number of refused files.'),
    results: listOf(
      Type.Union([
        uploadAnswer.schema,
        named('RefusedFile', {
          success: Type.Literal(false),
          filename: nullable(Type.String(), 'Name as sent.'),
          error: text('The problem, as a sentence.'),
          code: text('The problem, as a code for programs.'),
        }),
      ]),
      'One entry per file, in order.',
    ),
  },
  {
    success: true,
    stored: 1,
    failed: 1,
    results: [
      uploadAnswer.example,
      {
        success: false,
        filename: 'notes.txt',
        error: 'The file is not in a known picture format.',
        code: 'not_an_image',
      },
    ],
  },
);

export const infoAnswer = answer(
  'ImageInfo',
  { success, ...facts, ...snippets, ...preview, ...lastAccess, ...conversion },
  {
    success: true,
    ...exampleFacts,
    ...exampleLinks,
    thumbhash: exampleHash,
    last_access: '2026-02-01 10:00:00',
    ...exampleConversion,
  },
);

export const changeAnswer = answer(
  'ChangedImage',
  {
    ...infoAnswer.schema.properties,
    cached_until: nullable(
      Type.String(),
      'Until then, caches may still serve the old version. null if no cache may.',
    ),
  },
  { ...infoAnswer.example, cached_until: '2026-02-02 10:00:00' },
);

const page = {
  page: Type.Integer(),
  per_page: Type.Integer(),
  total: integer(`Number of images on all pages. Search counts up to ${MOST_COUNTED}.`),
  total_exact: flag('`false` if there are more than `total`.'),
  pages: integer('Number of pages for `total`. Use `cursor` to go beyond.'),
  next: nullable(Type.String(), 'The `cursor` of the next page. null on the last page.'),
  images: Type.Array(named('ListedImage', { ...facts, ...addresses, ...preview, ...lastAccess })),
};
const examplePage = {
  page: 1,
  per_page: DEFAULT_PER_PAGE,
  total: 1,
  total_exact: true,
  pages: 1,
  next: null,
  images: [
    {
      ...exampleFacts,
      url: exampleLinks.url,
      raw_url: exampleLinks.raw_url,
      thumbhash: exampleHash,
      last_access: '2026-02-01 10:00:00',
    },
  ],
};

export const listAnswer = answer('ImageList', { success, ...page }, { success: true, ...examplePage });

export const searchAnswer = answer(
  'ImageSearch',
  { success, query: Type.String(), ...page },
  { success: true, query: 'harbour', ...examplePage },
);

export const deleteAnswer = answer(
  'ImageDone',
  { success, id: Type.String() },
  { success: true, id: exampleFacts.id },
);

export const cleanupQuery = Type.Object({
  confirm: Type.Optional(
    flag(
      'true, from the administrator: the clock is right, although it jumped or the server was away for more than a day. Until then, or ' +
        'until the server has run for a day, the answer is 409, and neither idle nor expired images are deleted.',
    ),
  ),
});

export const cleanupAnswer = answer(
  'CleanUp',
  {
    success,
    removed: integer('Number of deleted images.'),
    freed_bytes: Type.Integer(),
    complete: flag('`false` if time ran out. Call again for the rest.'),
  },
  { success: true, removed: 12, freed_bytes: 2_210_640, complete: true },
);

export const statsAnswer = {
  description: 'The statistics of the image host.',
  ...answer(
    'ImageStats',
    {
      images: integer('Number of stored images, including protected ones.'),
      protected: integer('Number of images with a password.'),
      unlisted: integer('Number of unlisted images without a password.'),
      bytes: integer('Total size in bytes.'),
      formats: Type.Record(Type.String(), Type.Integer(), {
        description: 'Number of images by stored format.',
      }),
      accepted_formats: Type.Array(Type.String()),
      output_formats: Type.Array(Type.String()),
      max_upload_bytes: Type.Integer(),
      max_pixels: integer('Maximum number of pixels of an upload, over all frames.'),
      max_frames: Type.Integer(),
      retention_days: number(
        'Images without a view for this many days, in which the server ran, are deleted.',
      ),
      abuse_contact: Type.Optional(text('Where to report abuse.')),
    },
    {
      images: 120,
      protected: 3,
      unlisted: 8,
      bytes: 22_106_400,
      formats: { webp: 110, gif: 10 },
      accepted_formats: ['jpeg', 'png', 'webp', 'gif', 'avif', 'heic', 'tiff', 'jxl', 'bmp', 'ico'],
      output_formats: [...FORMATS],
      max_upload_bytes: 33_554_432,
      max_pixels: 100_000_000,
      max_frames: 500,
      retention_days: 90,
    },
  ),
};
