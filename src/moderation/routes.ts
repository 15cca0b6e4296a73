import { Type } from '@sinclair/typebox';
import type { Audit } from '../audit/audit.ts';
import { AppError, inEnglish } from '../errors.ts';
import { type Description, successOf } from '../http/describe.ts';
import { type Call, json, type Route, route } from '../http/route.ts';
import { unkept } from '../http/unkept.ts';
import { formatTimestamp } from '../lib/clock.ts';
import { text } from '../lib/schema.ts';
import type { Blocks, BlockTarget } from './blocks.ts';

const tag = 'Administration';
const network = text(
  'An IP address or a network such as 192.0.2.0/24. Blocked clients can only read, enter passwords and report.',
  { pattern: '^[0-9A-Fa-f:.]{2,39}(/[0-9]{1,3})?$' },
);
const hash = text(
  'SHA-256 of a file, as uploaded or as stored, in hexadecimal. The server refuses the file.',
  { pattern: '^[0-9A-Fa-f]{64}$' },
);
const phash = text('Perceptual hash from `/api/admin/images`. The server refuses images that look like it.', {
  pattern: '^[0-9A-Fa-f]{16}$',
});
const since = text('`YYYY-MM-DD HH:MM:SS`, UTC.');
const reason = text('A note for yourself.', { maxLength: 200 });

const target = {
  network: Type.Optional(network),
  hash: Type.Optional(hash),
  phash: Type.Optional(phash),
};
const blockBody = Type.Object({ ...target, reason: Type.Optional(reason) });
const unblockQuery = Type.Object(target);

const answers = {
  200: successOf(
    'The current blocks.',
    {
      networks: Type.Array(Type.Object({ network, since, reason })),
      hashes: Type.Array(Type.Object({ hash, since, reason })),
      phashes: Type.Array(Type.Object({ phash, since, reason })),
    },
    {
      networks: [{ network: '192.0.2.0/24', since: '2026-01-31 08:05:09', reason: 'spam' }],
      hashes: [],
      phashes: [],
    },
  ),
};
const about = {
  list: { id: 'listBlocks', tag, summary: 'List blocks', answers },
  block: { id: 'block', tag, summary: 'Block a client or file', answers, errors: [400, 409, 413] },
  unblock: { id: 'unblock', tag, summary: 'Remove a block', answers, errors: [400, 404, 409] },
} satisfies Record<string, Description>;

/** The routes for blocks, for the administrator only. Without `ADMIN_TOKEN` there is no access. */
export function adminRoutes(blocks: Blocks, audit: Pick<Audit, 'act' | 'carry'>): Route[] {
  const admin = 'or moderator';
  carryBlocks(blocks, audit);
  return [
    route('GET /api/admin/blocks', () => list(blocks), { admin, about: about.list }),
    route('POST /api/admin/blocks', (call) => block(blocks, audit, call), {
      body: json(blockBody),
      admin,
      about: about.block,
    }),
    route('DELETE /api/admin/blocks', (call) => unblock(blocks, audit, call), {
      query: unblockQuery,
      admin,
      about: about.unblock,
    }),
  ];
}

async function list(blocks: Blocks): Promise<Response> {
  const dated = <T extends { since: number }>(entries: readonly T[]) =>
    entries.map((one) => ({ ...one, since: formatTimestamp(one.since) }));
  const { networks, hashes, phashes } = await blocks.list();
  const answer = { networks: dated(networks), hashes: dated(hashes), phashes: dated(phashes) };
  return unkept({ success: true, ...answer });
}

async function block(
  blocks: Blocks,
  audit: Pick<Audit, 'act'>,
  { body, context }: Call<{ body: typeof blockBody }>,
): Promise<Response> {
  const { reason, ...target } = body;
  const { actor: who, peer } = context;
  for (const act of actsOf('block.add', target)) await audit.act({ ...act, who, peer, why: reason });
  return list(blocks);
}

async function unblock(
  blocks: Blocks,
  audit: Pick<Audit, 'act'>,
  { query, context }: Call<{ query: typeof unblockQuery }>,
): Promise<Response> {
  const { actor: who, peer } = context;
  for (const act of actsOf('block.remove', query)) await audit.act({ ...act, who, peer });
  return list(blocks);
}

function actsOf(what: 'block.add' | 'block.remove', target: BlockTarget) {
  const given = Object.entries(target).filter(([, value]) => value !== undefined);
  if (given.length === 0) throw new AppError('invalid_body', inEnglish('Give a network, a hash or a phash.'));
  // Windows writes hashes in capitals.
  return given.map(([kind, value]) => ({ what, subject: `${kind} ${String(value).toLowerCase()}` }));
}

function carryBlocks(blocks: Blocks, audit: Pick<Audit, 'carry'>): void {
  const targetOf = (subject: string): BlockTarget => {
    const [kind = '', value] = subject.split(' ');
    return { [kind]: value };
  };
  audit.carry('block.add', ({ subject, why = '' }) => blocks.add(targetOf(subject), why));
  audit.carry('block.remove', async ({ subject }) => {
    if (!(await blocks.remove(targetOf(subject))))
      throw new AppError('not_found', inEnglish('There is no such block.'));
  });
}
