import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe } from '../http/describe.ts';
import { policy } from '../http/policy.ts';
import type { ContextOf } from '../http/request-context.ts';
import { ALIKE_BITS } from '../lib/bits.ts';
import { coerce } from '../lib/schema.ts';
import { formatAccessCursor, parseAccessCursor } from './cursor.ts';
import { ID_PATTERN } from './ids.ts';
import type { ImageRecord } from './image.ts';
import type { RecentQuery } from './listing.ts';
import type { Likeness, LookIndex } from './look-index.ts';
import { DEFAULT_PER_PAGE, infoAnswer, listQuery, MAX_PER_PAGE } from './schemas.ts';
import type { ImageService } from './service.ts';
import type { AccessPlace } from './store.ts';
import { infoView } from './views.ts';

const image = Type.Composite([
  Type.Omit(infoAnswer.schema, ['success']),
  Type.Object({
    uploader: Type.String({
      description: 'IP address of the uploader. It starts with "shared " if others use it too.',
    }),
    hash: Type.String({ description: 'SHA-256 of the stored file in hexadecimal.' }),
    phash: Type.Union([Type.String(), Type.Null()], {
      description:
        'Perceptual hash: 64 bits in hexadecimal. null if the image has too little detail or comes from an old version.',
    }),
    distance: Type.Optional(
      Type.Integer({
        description: `With \`near\`: number of bits in which the perceptual hashes differ, at most ${ALIKE_BITS}.`,
      }),
    ),
  }),
]);

const query = Type.Object({
  ...listQuery.properties,
  near: Type.Optional(
    Type.String({
      pattern: ID_PATTERN.source,
      description:
        'ID of an image. Returns it and the images that look like it, the most similar first, on one page.',
    }),
  ),
});

const answer = Type.Object({
  success: Type.Literal(true),
  page: Type.Integer(),
  per_page: Type.Integer(),
  next: Type.Union([Type.String(), Type.Null()], {
    description: 'The `cursor` of the next page. null on the last page.',
  }),
  images: Type.Array(image),
});

/** An image and, with `near`, its distance from that image. */
type Found = { image: ImageRecord } & Partial<Pick<Likeness, 'distance'>>;

/** The administrator's view of the images. `DELETE /api/delete/<id>` deletes any of them. */
export function imageAdminRoutes({
  service,
  contextOf,
  basePath,
  looks,
}: {
  service: Pick<ImageService, 'recent' | 'find'>;
  looks: LookIndex;
  contextOf: ContextOf;
  basePath: string;
}) {
  async function recent(query: RecentQuery): Promise<{ found: Found[]; next: AccessPlace | null }> {
    const { items, next } = await service.recent(query);
    return { found: items.map((image) => ({ image })), next };
  }

  return new Elysia().get(
    '/api/admin/images',
    async ({ request, query }) => {
      const { origin } = contextOf(request);
      const { page = 1, per_page = DEFAULT_PER_PAGE, cursor, near } = query;
      const perPage = Math.min(per_page, MAX_PER_PAGE);
      const { found, next } =
        near === undefined
          ? await recent({ page, perPage, ...(cursor && { after: parseAccessCursor(cursor) }) })
          : { found: await looks.alike(await service.find(near), perPage), next: null };
      const images = found.map(({ image, ...likeness }) => {
        const { success, ...facts } = infoView(origin + basePath, image);
        const { uploader, hash, phash } = image;
        return { ...facts, uploader, hash, phash, ...likeness };
      });
      return Response.json(
        { success: true, page, per_page: perPage, next: next && formatAccessCursor(next), images },
        { headers: { 'cache-control': 'no-store' } },
      );
    },
    {
      query,
      transform: ({ query: given }) => coerce(query, given),
      detail: describe({
        id: 'listAllImages',
        tag: 'Administration',
        summary: 'List all images with their uploaders',
        answers: {
          200: { description: 'One page of results. Pages past the end are empty.', schema: answer },
        },
        errors: [400, 401, 404],
        admin: true,
      }),
      ...policy({ admin: 'always' }),
    },
  );
}
