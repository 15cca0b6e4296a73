import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe } from '../http/describe.ts';
import { policy } from '../http/policy.ts';
import { readJson } from '../http/read-json.ts';
import { formatTimestamp } from '../lib/clock.ts';
import { oneOf } from '../lib/schema.ts';
import { FORMATS, type ImageRecord, MEDIA_TYPES } from './image.ts';
import type { Reviews } from './reviews.ts';
import { PRIVATE_CACHE, SANDBOX } from './serve/serve.ts';

const tag = 'Administration';
const id = Type.String({ description: 'ID of 12 letters and digits.' });

const held = Type.Object({
  id,
  filename: Type.String(),
  format: oneOf(FORMATS),
  width: Type.Integer(),
  height: Type.Integer(),
  size: Type.Integer(),
  created_at: Type.String(),
  protected: Type.Boolean(),
  uploader: Type.String(),
  hash: Type.String(),
  phash: Type.Union([Type.String(), Type.Null()]),
});
const answer = Type.Object({ success: Type.Literal(true), images: Type.Array(held) });
const decision = Type.Object({
  id,
  verdict: oneOf(['allow', 'block'], {
    description: '`allow`: publish the image under its ID. `block`: delete it.',
  }),
});

function viewOf(image: ImageRecord) {
  const { id, filename, format, width, height, size, createdAt, passwordHash, uploader, hash, phash } = image;
  const times = { created_at: formatTimestamp(createdAt), protected: passwordHash !== null };
  return { id, filename, format, width, height, size, ...times, uploader, hash, phash };
}

/** The routes for pictures that wait for the administrator. */
export function imageReviewRoutes(reviews: Reviews) {
  async function list() {
    const images = (await reviews.list()).map(viewOf);
    return Response.json({ success: true, images }, { headers: { 'cache-control': 'no-store' } });
  }

  const admin = policy({ admin: 'always' });
  const answers = { 200: { description: 'The images in review, oldest first.', schema: answer } };
  return new Elysia()
    .get('/api/admin/reviews', list, {
      detail: describe({
        id: 'listReviews',
        tag,
        summary: 'List images in review',
        answers,
        errors: [401],
        admin: true,
      }),
      ...admin,
    })
    .get(
      '/api/admin/reviews/:id',
      async ({ params }) => {
        const { image, body } = await reviews.file(params.id);
        return new Response(body, {
          headers: {
            'content-type': MEDIA_TYPES[image.format],
            'cache-control': PRIVATE_CACHE,
            'content-security-policy': SANDBOX,
          },
        });
      },
      {
        detail: describe({
          id: 'getReviewedImage',
          tag,
          summary: 'Get the file of an image in review',
          answers: { 200: { description: 'The file.', content: { 'image/*': { schema: Type.String() } } } },
          errors: [401, 404],
          admin: true,
        }),
        ...admin,
      },
    )
    .post(
      '/api/admin/reviews',
      async ({ body }) => {
        await reviews.decide(body.id, body.verdict);
        return list();
      },
      {
        body: decision,
        parse: ({ request }) => readJson(request),
        detail: describe({
          id: 'decideReview',
          tag,
          summary: 'Approve or delete an image in review',
          answers,
          errors: [400, 401, 404, 413],
          admin: true,
        }),
        ...admin,
      },
    );
}
