import { type Static, Type } from '@sinclair/typebox';
import { AppError, inEnglish } from '../errors.ts';
import type { Description } from '../http/describe.ts';
import { json, type Route, route } from '../http/route.ts';
import { formatTimestamp } from '../lib/clock.ts';
import type { Blocks } from './blocks.ts';

const tag = 'Administration';
const network = Type.String({
  minLength: 2,
  maxLength: 43,
  description: 'An IP address or a network such as 192.0.2.0/24. Blocked clients can only read.',
});
const hash = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA-256 of a file, as uploaded or as stored, in hexadecimal. The server refuses the file.',
});
const phash = Type.String({
  pattern: '^[0-9a-f]{16}$',
  description: 'Perceptual hash from `/api/admin/images`. The server refuses images that look like it.',
});
const since = Type.String({ description: '`YYYY-MM-DD HH:MM:SS`, UTC.' });
const reason = Type.String({ maxLength: 200, description: 'A note for yourself.' });

const blockBody = Type.Object({
  network: Type.Optional(network),
  hash: Type.Optional(hash),
  phash: Type.Optional(phash),
  reason: Type.Optional(reason),
});
const unblockQuery = Type.Object({
  network: Type.Optional(network),
  hash: Type.Optional(hash),
  phash: Type.Optional(phash),
});

const listAnswer = Type.Object({
  success: Type.Literal(true),
  networks: Type.Array(Type.Object({ network, since, reason })),
  hashes: Type.Array(Type.Object({ hash, since, reason })),
  phashes: Type.Array(Type.Object({ phash, since, reason })),
});
const listExample = {
  success: true,
  networks: [{ network: '192.0.2.0/24', since: '2026-01-31 08:05:09', reason: 'spam' }],
  hashes: [],
  phashes: [],
};

const about = {
  list: {
    id: 'listBlocks',
    tag,
    summary: 'List blocks',
    answers: {
      200: { description: 'The blocked clients and files.', schema: listAnswer, example: listExample },
    },
  },
  block: {
    id: 'block',
    tag,
    summary: 'Block a client or file',
    answers: { 200: { description: 'The current blocks.', schema: listAnswer, example: listExample } },
    errors: [400, 409, 413],
  },
  unblock: {
    id: 'unblock',
    tag,
    summary: 'Remove a block',
    answers: { 200: { description: 'The current blocks.', schema: listAnswer, example: listExample } },
    errors: [400, 404, 409],
  },
} satisfies Record<string, Description>;

/** The routes for blocks, for the administrator only. Without `ADMIN_TOKEN` there is no access. */
export function adminRoutes(blocks: Blocks): Route[] {
  const admin = 'always';
  return [
    route('GET /api/admin/blocks', () => list(blocks), { admin, about: about.list }),
    route('POST /api/admin/blocks', ({ body }) => block(blocks, body), {
      body: json(blockBody),
      admin,
      about: about.block,
    }),
    route('DELETE /api/admin/blocks', ({ query }) => unblock(blocks, query), {
      query: unblockQuery,
      admin,
      about: about.unblock,
    }),
  ];
}

async function list(blocks: Blocks): Promise<Response> {
  const { networks, hashes, phashes } = await blocks.list();
  const answer = {
    success: true,
    networks: networks.map((one) => ({ ...one, since: formatTimestamp(one.since) })),
    hashes: hashes.map((one) => ({ ...one, since: formatTimestamp(one.since) })),
    phashes: phashes.map((one) => ({ ...one, since: formatTimestamp(one.since) })),
  };
  return Response.json(answer, { headers: { 'cache-control': 'no-store' } });
}

async function block(blocks: Blocks, asked: Static<typeof blockBody>): Promise<Response> {
  const { network, hash, phash, reason = '' } = asked;
  if (network === undefined && hash === undefined && phash === undefined) {
    throw new AppError('invalid_body', inEnglish('Give a network, a hash or a phash.'));
  }
  await blocks.add({ network, hash, phash }, reason);
  return list(blocks);
}

async function unblock(blocks: Blocks, asked: Static<typeof unblockQuery>): Promise<Response> {
  if (!(await blocks.remove(asked))) throw new AppError('not_found', inEnglish('There is no such block.'));
  return list(blocks);
}
