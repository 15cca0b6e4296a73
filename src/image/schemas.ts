import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import { oneOf } from '../lib/schema.ts';
import { PRIVATE_PARTS } from './codec/private-parts.ts';
import { UPLOAD_WARNING_CODES } from './codec/warnings.ts';
import { CURSOR_PATTERN } from './cursor.ts';
import { FORMATS, VISIBILITIES } from './image.ts';
import { MOST_COUNTED } from './store.ts';

/** More than this many a page are served as this many. */
export const MAX_PER_PAGE = 100;
export const DEFAULT_PER_PAGE = 20;

const paging = {
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000_000, default: 1, description: 'Counted from 1.' }),
  ),
  per_page: Type.Optional(
    Type.Integer({
      minimum: 1,
      default: DEFAULT_PER_PAGE,
      description: `Images on a page; above ${MAX_PER_PAGE}, ${MAX_PER_PAGE} are served.`,
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      pattern: CURSOR_PATTERN,
      description: 'The `next` of an answer: the images behind it. `page` does not count then.',
    }),
  ),
};

export const listQuery = Type.Object(paging);

export const searchQuery = Type.Object({
  q: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'Any part of the file name, id or format, in any letter case, with or without accents.',
  }),
  ...paging,
});

export const success = Type.Literal(true);

export const facts = {
  id: Type.String({ description: '12 letters and digits.' }),
  filename: Type.String({ description: 'As uploaded.' }),
  format: oneOf(FORMATS, { description: 'Stored format.' }),
  width: Type.Integer({ description: 'In pixels.' }),
  height: Type.Integer({ description: 'In pixels.' }),
  frames: Type.Integer({ description: '1 for a still picture.' }),
  size: Type.Integer({ description: 'Bytes of the stored file.' }),
  created_at: Type.String({ description: '`YYYY-MM-DD HH:MM:SS`, UTC.' }),
};

export const addresses = {
  url: Type.String({ description: 'Page link.' }),
  raw_url: Type.String({ description: 'Direct link.' }),
};

export const audience = {
  visibility: oneOf(VISIBILITIES, { description: 'Who sees it.' }),
  expires_at: Type.Union([Type.String(), Type.Null()], {
    description:
      '`YYYY-MM-DD HH:MM:SS`, UTC, or `never`; null: it is removed once it has not been opened for `retention_days`.',
  }),
  max_views: Type.Union([Type.Integer(), Type.Null()], {
    description: 'How often its file may be sent; null: always.',
  }),
  views_left: Type.Union([Type.Integer(), Type.Null()], { description: 'How often it may still be sent.' }),
};

const snippets = {
  ...addresses,
  markdown: Type.String(),
  html: Type.String(),
  bbcode: Type.String(),
  protected: Type.Boolean({ description: 'Whether a password is needed to see it.' }),
  ...audience,
};

export const preview = {
  thumbhash: Type.Union([Type.String(), Type.Null()], {
    description: 'A blurred preview: a ThumbHash in Base64. Null for images of older versions.',
  }),
};
export const exampleHash = 'HBkSHYSIeHiPiHh8eJd4eTN0EEQG';

const lastAccess = {
  last_access: Type.String({ description: '`YYYY-MM-DD HH:MM:SS`, UTC; exact to an hour.' }),
};

export const exampleFacts = {
  id: 'Zk3vQ8mT1xYb',
  filename: 'harbour.jpg',
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

/** A shape of an answer, by its name in the API description, with an example of it. */
export function answer<T extends TProperties>(
  $id: string,
  properties: T,
  example: object,
): { schema: TObject<T>; example: object } {
  return { schema: Type.Object(properties, { $id }), example };
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
          'There where the administrator looks at the picture first: until then its links lead nowhere.',
      }),
    ),
    album: Type.Optional(Type.String({ description: 'Id of the album that it was put into.' })),
    delete_token: Type.String({ description: 'Deletes the image from any address; shown only here.' }),
    delete_url: Type.String({ description: 'Page that asks for confirmation and deletes the image.' }),
    removed: Type.Array(oneOf(PRIVATE_PARTS), {
      description:
        'What its metadata told and is not stored: `location`, where it was taken; `metadata`, anything. Empty with `strip_exif=false`.',
    }),
    warnings: Type.Array(
      Type.Object({
        code: oneOf(UPLOAD_WARNING_CODES, { description: 'For programs.' }),
        message: Type.String({ description: 'For people.' }),
      }),
      {
        description:
          'What went otherwise than asked, such as what the stored image has lost; empty as a rule.',
      },
    ),
  },
  {
    success: true,
    ...exampleFacts,
    ...exampleLinks,
    delete_token: exampleToken,
    delete_url: `${exampleLinks.url}/delete?token=${exampleToken}`,
    removed: ['location', 'metadata'],
    warnings: [],
  },
);

export const uploadsAnswer = answer(
  'UploadResults',
  {
    success,
    stored: Type.Integer({ description: 'How many of the files are stored: at least one.' }),
    failed: Type.Integer({ description: 'How many are not.' }),
    results: Type.Array(
      Type.Union([
        uploadAnswer.schema,
        Type.Object(
          {
            success: Type.Literal(false),
            filename: Type.Union([Type.String(), Type.Null()], { description: 'As it was sent.' }),
            error: Type.String({ description: 'What was wrong, in a sentence.' }),
            code: Type.String({ description: 'The same for programs.' }),
          },
          { $id: 'RefusedFile' },
        ),
      ]),
      { description: 'One for each file, in their order.' },
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
        error: 'The file is of no known picture format.',
        code: 'not_an_image',
      },
    ],
  },
);

export const infoAnswer = answer(
  'ImageInfo',
  { success, ...facts, ...snippets, ...preview, ...lastAccess },
  {
    success: true,
    ...exampleFacts,
    ...exampleLinks,
    thumbhash: exampleHash,
    last_access: '2026-02-01 10:00:00',
  },
);

export const changeAnswer = answer(
  'ChangedImage',
  {
    ...infoAnswer.schema.properties,
    cached_until: Type.Union([Type.String(), Type.Null()], {
      description: 'Until then caches may still have it as it was before; null: none may.',
    }),
  },
  { ...infoAnswer.example, cached_until: '2026-02-02 10:00:00' },
);

const page = {
  page: Type.Integer(),
  per_page: Type.Integer(),
  total: Type.Integer({ description: `Images on all pages; matches of a search up to ${MOST_COUNTED}.` }),
  total_exact: Type.Boolean({ description: 'False where there are more than `total`.' }),
  pages: Type.Integer({ description: 'Of `total`; images beyond are reached by `cursor`.' }),
  next: Type.Union([Type.String(), Type.Null()], {
    description: 'The `cursor` of the next page; null: this is the last one.',
  }),
  images: Type.Array(
    Type.Object({ ...facts, ...addresses, ...preview, ...lastAccess }, { $id: 'ListedImage' }),
  ),
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

export const cleanupAnswer = answer(
  'CleanUp',
  {
    success,
    removed: Type.Integer({ description: 'Images that were removed.' }),
    freed_bytes: Type.Integer(),
    complete: Type.Boolean({ description: 'False when time ran out; call again for the rest.' }),
  },
  { success: true, removed: 12, freed_bytes: 2_210_640, complete: true },
);

export const statsAnswer = {
  description: 'The numbers of the image host.',
  ...answer(
    'ImageStats',
    {
      images: Type.Integer({ description: 'Stored images, protected ones included.' }),
      protected: Type.Integer({ description: 'How many of them have a password.' }),
      unlisted: Type.Integer({ description: 'How many of them have none and are in no list.' }),
      bytes: Type.Integer({ description: 'Bytes of all of them.' }),
      formats: Type.Record(Type.String(), Type.Integer(), { description: 'Images by stored format.' }),
      accepted_formats: Type.Array(Type.String()),
      output_formats: Type.Array(Type.String()),
      max_upload_bytes: Type.Integer(),
      max_pixels: Type.Integer({ description: 'Of an upload, all frames together.' }),
      max_frames: Type.Integer(),
      retention_days: Type.Number({ description: 'Images that nobody opens for so long are removed.' }),
      abuse_contact: Type.Optional(Type.String({ description: 'Where to report abuse.' })),
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
