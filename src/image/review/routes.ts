import { type Static, Type } from '@sinclair/typebox';
import type { Audit } from '../../audit/audit.ts';
import { FORMATS } from '../../codec/format.ts';
import { type Description, successOf } from '../../http/describe.ts';
import { type Call, json, type Route, route } from '../../http/route.ts';
import { unkept } from '../../http/unkept.ts';
import { formatTimestamp } from '../../lib/clock.ts';
import { nullable, oneOf, text } from '../../lib/schema.ts';
import type { ImageRecord } from '../image.ts';
import { SUBJECT } from '../owner-actions.ts';
import { ID_PATTERN } from '../records/ids.ts';
import { privateFile } from '../serve/serve.ts';
import type { Reviews } from './reviews.ts';

const tag = 'Administration';
const id = text('ID of 12 letters and digits.', { pattern: ID_PATTERN.source });

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
  phash: nullable(Type.String()),
});
const decision = Type.Object({
  id,
  verdict: oneOf(['allow', 'block'], '`allow`: publish the image under its ID. `block`: delete it.'),
});

const about = (
  id: string,
  summary: string,
  answers: Description['answers'],
  errors: number[],
): Description => ({ id, tag, summary, answers, errors });
const listed = { 200: successOf('The images in review, oldest first.', { images: Type.Array(held) }) };
const file = { 200: { description: 'The file.', content: { 'image/*': { schema: Type.String() } } } };

/** The routes for pictures that wait for the administrator. */
export function imageReviewRoutes(reviews: Reviews, audit: Pick<Audit, 'act' | 'carry'>): Route[] {
  const admin = 'or moderator';
  const decideOn = (verdict: 'allow' | 'block') => (act: { subject: string }) =>
    reviews.decide(act.subject.slice(SUBJECT.length), verdict);
  audit.carry('review.allow', decideOn('allow'), 'yields');
  audit.carry('review.block', decideOn('block'));
  return [
    route('GET /api/admin/reviews', () => list(reviews), {
      admin,
      about: about('listReviews', 'List images in review', listed, []),
    }),
    route('GET /api/admin/reviews/:id', ({ params }) => showFile(reviews, params.id), {
      admin,
      about: about('getReviewedImage', 'Get the file of an image in review', file, [404]),
    }),
    route('POST /api/admin/reviews', (call) => decide(reviews, audit, call), {
      body: json(decision),
      admin,
      about: about('decideReview', 'Approve or delete an image in review', listed, [400, 403, 404, 409, 413]),
    }),
  ];
}

async function list(reviews: Reviews): Promise<Response> {
  return unkept({ success: true, images: (await reviews.list()).map(viewOf) });
}

async function showFile(reviews: Reviews, id: string): Promise<Response> {
  const { image, body } = await reviews.file(id);
  return privateFile(image, body);
}

/** Publishes or deletes an image, and lists the others. */
async function decide(
  reviews: Reviews,
  audit: Pick<Audit, 'act'>,
  { body: { id, verdict }, context }: Call<{ body: Static<typeof decision> }>,
): Promise<Response> {
  await audit.act({
    ...{ what: `review.${verdict}`, subject: SUBJECT + id },
    ...{ who: context.actor, peer: context.peer },
  });
  return list(reviews);
}

function viewOf(image: ImageRecord) {
  const { id, filename, format, width, height, size, createdAt, passwordHash, uploader, hash, phash } = image;
  const times = { created_at: formatTimestamp(createdAt), protected: passwordHash !== null };
  return { id, filename, format, width, height, size, ...times, uploader, hash, phash };
}
