import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import { describe } from '../http/describe.ts';
import { policy } from '../http/policy.ts';
import { readJson } from '../http/read-json.ts';
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

const blocksNow = {
  200: { description: 'The current blocks.', schema: listAnswer, example: listExample },
};

/** The routes for blocks, for the administrator only. Without `ADMIN_TOKEN` there is no access. */
export function adminRoutes(blocks: Blocks) {
  async function list() {
    const { networks, hashes, phashes } = await blocks.list();
    const answer = {
      success: true,
      networks: networks.map((one) => ({ ...one, since: formatTimestamp(one.since) })),
      hashes: hashes.map((one) => ({ ...one, since: formatTimestamp(one.since) })),
      phashes: phashes.map((one) => ({ ...one, since: formatTimestamp(one.since) })),
    };
    return Response.json(answer, { headers: { 'cache-control': 'no-store' } });
  }

  return new Elysia()
    .get('/api/admin/blocks', list, {
      detail: describe({
        id: 'listBlocks',
        tag,
        summary: 'List blocks',
        answers: {
          200: { description: 'The blocked clients and files.', schema: listAnswer, example: listExample },
        },
        errors: [401],
        admin: true,
      }),
      ...policy({ admin: 'always' }),
    })
    .post(
      '/api/admin/blocks',
      async ({ body: { network, hash, phash, reason = '' } }) => {
        if (network === undefined && hash === undefined && phash === undefined) {
          throw new AppError('invalid_body', 'Give a network, a hash or a phash.');
        }
        await blocks.add({ network, hash, phash }, reason);
        return list();
      },
      {
        body: blockBody,
        parse: ({ request }) => readJson(request),
        detail: describe({
          id: 'block',
          tag,
          summary: 'Block a client or file',
          answers: blocksNow,
          errors: [400, 401, 409, 413],
          admin: true,
        }),
        ...policy({ admin: 'always' }),
      },
    )
    .delete(
      '/api/admin/blocks',
      async ({ query }) => {
        if (!(await blocks.remove(query))) throw new AppError('not_found', 'There is no such block.');
        return list();
      },
      {
        query: unblockQuery,
        parse: 'none',
        detail: describe({
          id: 'unblock',
          tag,
          summary: 'Remove a block',
          answers: blocksNow,
          errors: [400, 401, 404, 409],
          admin: true,
        }),
        ...policy({ admin: 'always' }),
      },
    );
}
