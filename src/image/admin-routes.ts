import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe } from '../http/describe.ts';
import { policy } from '../http/policy.ts';
import type { ContextOf } from '../http/request-context.ts';
import { coerce } from '../lib/schema.ts';
import { DEFAULT_PER_PAGE, infoAnswer, listQuery, MAX_PER_PAGE } from './schemas.ts';
import type { ImageService } from './service.ts';
import { infoView } from './views.ts';

const image = Type.Composite([
  Type.Omit(infoAnswer.schema, ['success']),
  Type.Object({
    uploader: Type.String({
      description: 'Address of the uploader; after "shared " where others have it, too.',
    }),
    hash: Type.String({ description: 'SHA-256 of the stored file, in hexadecimal.' }),
  }),
]);

const answer = Type.Object({
  success: Type.Literal(true),
  page: Type.Integer(),
  per_page: Type.Integer(),
  images: Type.Array(image),
});

/** What the administrator sees of the images. Deleting any of them goes through `DELETE /api/delete/<id>`. */
export function imageAdminRoutes({
  service,
  contextOf,
  basePath,
}: {
  service: Pick<ImageService, 'recent'>;
  contextOf: ContextOf;
  basePath: string;
}) {
  return new Elysia().get(
    '/api/admin/images',
    async ({ request, query }) => {
      const { origin } = contextOf(request);
      const { page = 1, per_page = DEFAULT_PER_PAGE } = query;
      const perPage = Math.min(per_page, MAX_PER_PAGE);
      const found = await service.recent({ page, perPage });
      const images = found.map((one) => {
        const { success, ...facts } = infoView(origin + basePath, one);
        return { ...facts, uploader: one.uploader, hash: one.hash };
      });
      return Response.json(
        { success: true, page, per_page: perPage, images },
        { headers: { 'cache-control': 'no-store' } },
      );
    },
    {
      query: listQuery,
      transform: ({ query }) => coerce(listQuery, query),
      detail: describe({
        id: 'listAllImages',
        tag: 'Administration',
        summary: 'All images with their uploaders, protected ones too, last stored or opened first',
        answers: { 200: { description: 'One page; past the end an empty one.', schema: answer } },
        errors: [400, 401],
        admin: true,
      }),
      ...policy({ admin: 'always' }),
    },
  );
}
