import { Type } from '@sinclair/typebox';
import { type Description, successOf } from '../http/describe.ts';
import { type Call, type Route, route } from '../http/route.ts';
import { unkept } from '../http/unkept.ts';
import { ALIKE_BITS } from '../lib/bits.ts';
import { integer, nullable, text } from '../lib/schema.ts';
import type { ImageRecord } from './image.ts';
import { formatAccessCursor, parseAccessCursor } from './records/cursor.ts';
import { ID_PATTERN } from './records/ids.ts';
import type { Likeness, LookIndex } from './records/look-index.ts';
import { DEFAULT_PER_PAGE, infoAnswer, listQuery, MAX_PER_PAGE } from './schemas.ts';
import type { ImageService } from './service.ts';
import { infoView } from './views.ts';

const image = Type.Composite([
  Type.Omit(infoAnswer.schema, ['success']),
  Type.Object({
    uploader: text('IP address of the uploader. It starts with "shared " if others use it too.'),
    hash: text('SHA-256 of the stored file in hexadecimal.'),
    phash: nullable(
      Type.String(),
      'Perceptual hash: 64 bits in hexadecimal. null if the image has too little detail or comes from an old version.',
    ),
    distance: Type.Optional(
      integer(`With \`near\`: number of bits in which the perceptual hashes differ, at most ${ALIKE_BITS}.`),
    ),
  }),
]);

const listAllQuery = Type.Object({
  ...listQuery.properties,
  near: Type.Optional(
    text(
      'ID of an image. Returns it and the images that look like it, the most similar first, on one page.',
      { pattern: ID_PATTERN.source },
    ),
  ),
});

const about: Description = {
  id: 'listAllImages',
  tag: 'Administration',
  summary: 'List all images with their uploaders',
  answers: {
    200: successOf('One page of results. Pages past the end are empty.', {
      page: Type.Integer(),
      per_page: Type.Integer(),
      next: nullable(Type.String(), 'The `cursor` of the next page. null on the last page.'),
      images: Type.Array(image),
    }),
  },
  errors: [400, 404],
};

interface ImageAdminRoutesOptions {
  service: Pick<ImageService, 'recent' | 'find'>;
  looks: LookIndex;
  basePath: string;
}

/** The administrator's view of the images. `DELETE /api/delete/<id>` deletes any of them. */
export function imageAdminRoutes(options: ImageAdminRoutesOptions): Route[] {
  return [
    route('GET /api/admin/images', (call) => list(options, call), {
      query: listAllQuery,
      admin: 'or moderator',
      about,
    }),
  ];
}

async function list(
  { service, looks, basePath }: ImageAdminRoutesOptions,
  { query, context }: Call<{ query: typeof listAllQuery }>,
): Promise<Response> {
  const { page = 1, per_page = DEFAULT_PER_PAGE, cursor, near } = query;
  const perPage = Math.min(per_page, MAX_PER_PAGE);
  const listed =
    near === undefined
      ? await service.recent({ page, perPage, ...(cursor && { after: parseAccessCursor(cursor) }) })
      : { alike: await looks.alike(await service.find(near), perPage), next: null };
  const found: Found[] = 'alike' in listed ? listed.alike : listed.items.map((image) => ({ image }));
  const images = found.map(({ image, ...likeness }) => {
    const { success, ...facts } = infoView(context.origin + basePath, image);
    const { uploader, hash, phash } = image;
    return { ...facts, uploader, hash, phash, ...likeness };
  });
  const next = listed.next && formatAccessCursor(listed.next);
  return unkept({ success: true, page, per_page: perPage, next, images });
}

/** An image and, with `near`, its distance from that image. */
type Found = { image: ImageRecord } & Partial<Pick<Likeness, 'distance'>>;
