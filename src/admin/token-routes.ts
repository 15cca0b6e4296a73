import { Type } from '@sinclair/typebox';
import { ROLES, type Role, TOKEN_NAME, type Tokens } from '../access/tokens.ts';
import type { Usage } from '../access/usage.ts';
import type { Audit } from '../audit/audit.ts';
import { AppError, inEnglish } from '../errors.ts';
import { type Description, successOf } from '../http/describe.ts';
import { type Call, json, type Route, route } from '../http/route.ts';
import { unkept } from '../http/unkept.ts';
import { formatTimestamp } from '../lib/clock.ts';
import { integer, oneOf, text } from '../lib/schema.ts';
import type { By } from './desk.ts';

export interface TokenDesk {
  issuer: Issuer;
  tokens: Pick<Tokens, 'list'>;
  readUsage: () => Promise<Record<string, Usage>>;
}

/** Issues and revokes tokens in somebody's name. */
export function createIssuer(tokens: Pick<Tokens, 'create' | 'revoke'>, audit: Pick<Audit, 'once'>) {
  return {
    /** Returns the token, this once. Rejects with `conflict` if the name is taken. */
    create(name: string, role: Role, by: By): Promise<string> {
      const act = { what: 'token.create', subject: `token ${name}`, why: role, ...by };
      return audit.once(act, () => tokens.create({ name, role, rate: null, quota: null }));
    },
    /** Rejects with `not_found` for an unknown name, which the log then says. */
    revoke: (name: string, by: Pick<By, 'who'> & Partial<By>): Promise<void> =>
      audit.once({ what: 'token.revoke', subject: `token ${name}`, ...by }, async () => {
        if (!(await tokens.revoke(name)))
          throw new AppError('not_found', inEnglish(`There is no token named ${name}.`));
      }),
  };
}

export type Issuer = ReturnType<typeof createIssuer>;

const tag = 'Administration';
const name = text('Name of the token.');
const role = oneOf(ROLES, 'What the token allows.');
const time = text('`YYYY-MM-DD HH:MM:SS`, UTC.');
const listed = Type.Object({
  name,
  role,
  created_at: time,
  requests: integer('How often it was used.'),
  last_used: Type.Union([time, Type.Null()]),
});
const tokenExample = {
  ...{ name: 'phone', role: 'upload', created_at: '2026-01-31 08:05:09' },
  ...{ requests: 12, last_used: '2026-02-01 10:00:00' },
};
const listAnswer = (description: string) =>
  successOf(description, { tokens: Type.Array(listed) }, { tokens: [tokenExample] });
const newBody = Type.Object({
  name: text(TOKEN_NAME.rule, { pattern: TOKEN_NAME.pattern }),
  role,
});
const newAnswer = successOf(
  'The token.',
  { name, role, token: text('The token. It is stored nowhere, and not shown again.') },
  { name: 'phone', role: 'upload', token: 'picpool_R0t4wK8vQ2mZr7TnYc4Jb0LkW9sVd6HfG3aPe1UxB5c' },
);
const named = Type.Object({ name });
const about = {
  list: {
    ...{ id: 'listTokens', tag, summary: 'List tokens' },
    answers: { 200: listAnswer('All tokens, oldest first.') },
  },
  create: {
    ...{ id: 'createToken', tag, summary: 'Create a token' },
    answers: { 201: newAnswer },
    errors: [400, 409, 413],
  },
  revoke: {
    ...{ id: 'revokeToken', tag, summary: 'Revoke a token' },
    answers: { 200: listAnswer('The other tokens.') },
    errors: [400, 404],
  },
} satisfies Record<string, Description>;

/** Tokens over the API, for administrators. */
export function tokenRoutes(at: TokenDesk): Route[] {
  const admin = 'always';
  return [
    route('GET /api/admin/tokens', () => list(at), { admin, about: about.list }),
    route('POST /api/admin/tokens', (call) => create(at, call), {
      ...{ admin, body: json(newBody), about: about.create },
    }),
    route('DELETE /api/admin/tokens/:name', (call) => revoke(at, call), {
      ...{ admin, params: named, about: about.revoke },
    }),
  ];
}

async function list({ tokens, readUsage }: TokenDesk): Promise<Response> {
  const [all, usage] = await Promise.all([tokens.list(), readUsage()]);
  const answer = all.map(({ id, name, role, createdAt }) => ({
    ...{ name, role, created_at: formatTimestamp(createdAt) },
    requests: usage[id]?.requests ?? 0,
    last_used: usage[id] ? formatTimestamp(usage[id].lastAt) : null,
  }));
  return unkept({ success: true, tokens: answer });
}

async function create({ issuer }: TokenDesk, { body, context }: Call<{ body: typeof newBody }>) {
  const { name, role } = body;
  const token = await issuer.create(name, role, { who: context.actor, peer: context.peer });
  return unkept({ success: true, name, role, token }, 201);
}

async function revoke(at: TokenDesk, { params, context }: Call<{ params: typeof named }>) {
  await at.issuer.revoke(params.name, { who: context.actor, peer: context.peer });
  return list(at);
}
