import { type Static, Type } from '@sinclair/typebox';
import type { Description } from '../http/describe.ts';
import { type Route, route } from '../http/route.ts';
import { integer, text } from '../lib/schema.ts';
import type { Audit } from './audit.ts';

type Log = Pick<Audit, 'list' | 'lineOf'>;

const logQuery = Type.Object({
  limit: Type.Optional(integer('Maximum number of acts. Default: 100.', { minimum: 1, maximum: 1000 })),
  after: Type.Optional(text('ID of an act: continues with the ones before it in time.', { maxLength: 40 })),
});

const line =
  '{"id":"0b54e8f2-7c1d-4e0a-9d53-5e3b1f6f2a11","time":"2026-01-31T08:05:09.000Z","what":"image.delete","subject":"image aZ3kP9qLm2Xw","who":"administrator","peer":"192.0.2.7","why":"spam"}\n';

const about: Description = {
  id: 'readLog',
  tag: 'Administration',
  summary: 'Read the audit log',
  description:
    'One line of JSON for each act of an administrator or moderator, and for each deletion by an uploader, the newest first. `what` of an act that could not be carried out is followed by an entry `refused` with its ID as `of`.',
  answers: {
    200: {
      description: 'The acts, as lines of JSON.',
      content: { 'application/x-ndjson': { schema: Type.String(), example: line } },
    },
  },
  errors: [400],
};

/** The audit log, for the administrator and moderators. */
export function auditRoutes(audit: Log): Route[] {
  return [
    route('GET /api/admin/log', ({ query }) => read(audit, query), {
      query: logQuery,
      admin: 'or moderator',
      about,
    }),
  ];
}

async function read(audit: Log, { limit = 100, after }: Static<typeof logQuery>): Promise<Response> {
  const lines = (await audit.list({ limit, after })).map((act) => `${audit.lineOf(act)}\n`);
  return new Response(lines.join(''), {
    headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
  });
}
