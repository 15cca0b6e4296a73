import { type Static, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe } from '../http/describe.ts';
import type { ContextOf } from '../http/request-context.ts';
import { coerce } from '../lib/schema.ts';
import type { TargetFacts, Targets } from './targets/targets.ts';

export interface TargetRoutesOptions {
  targets: Pick<Targets, 'known'>;
  contextOf: ContextOf;
}

const MOST_ENTRIES = 500;
const DEFAULT_ENTRIES = 100;

const targetSchema = Type.Object(
  {
    name: Type.Union([Type.String(), Type.Null()], { description: 'By which the operator calls it.' }),
    site: Type.String({ description: 'The registered domain, or the address, for which results are kept.' }),
    url: Type.Union([Type.String(), Type.Null()], { description: 'What proxies are tried with.' }),
    proxies: Type.Integer({ description: 'Proxies of which results are known.' }),
    working: Type.Integer({ description: 'Of these, with more good results than bad ones lately.' }),
    success: Type.Union([Type.Number(), Type.Null()], {
      description:
        'Share of the latest results that were good, all proxies together; `null` before the first.',
    }),
  },
  { $id: 'Target' },
);

const targetsSchema = Type.Object({
  success: Type.Literal(true),
  total: Type.Integer({ description: 'All that you may see.' }),
  count: Type.Integer({ description: 'The targets in this answer.' }),
  targets: Type.Array(targetSchema),
});

const targetsQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        default: DEFAULT_ENTRIES,
        description: `Most targets that are returned; above ${MOST_ENTRIES} is served as ${MOST_ENTRIES}.`,
      }),
    ),
    offset: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1e6,
        default: 0,
        description: 'Targets to leave out at the start.',
      }),
    ),
  },
  { additionalProperties: true },
);

const detail = describe({
  id: 'listTargets',
  tag: 'Proxy pool',
  summary: 'Sites for which it is known which proxies reach them',
  description:
    'Those that the operator has named are for everybody. The others tell what users visit: only the administrator sees them.',
  answers: {
    200: {
      description: 'What is known of each.',
      schema: targetsSchema,
      example: {
        success: true,
        total: 1,
        count: 1,
        targets: [
          {
            name: 'search',
            site: 'example.com',
            url: 'https://www.example.com/',
            proxies: 212,
            working: 140,
            success: 0.682,
          },
        ],
      },
    },
  },
  errors: [400],
});

/** `GET /api/targets`. */
export function targetRoutes({ targets, contextOf }: TargetRoutesOptions) {
  return new Elysia().get(
    '/api/targets',
    ({ query: { limit = DEFAULT_ENTRIES, offset = 0 }, request }) => {
      const { admin } = contextOf(request);
      const all = targets.known().filter(({ named }) => admin || named !== null);
      const page = all.slice(offset, offset + Math.min(limit, MOST_ENTRIES)).map(targetView);
      return Response.json(
        { success: true, total: all.length, count: page.length, targets: page },
        { headers: { 'cache-control': 'no-store' } },
      );
    },
    { query: targetsQuery, transform: ({ query }) => coerce(targetsQuery, query), detail },
  );
}

function targetView({ named, site, facts }: TargetFacts): Static<typeof targetSchema> {
  const pairs = [...(facts?.pairs.values() ?? [])];
  return {
    name: named?.name ?? null,
    site,
    url: named?.url ?? null,
    proxies: pairs.length,
    working: pairs.filter(({ good, bad }) => good > bad).length,
    success: facts ? Math.round(shareOf(facts) * 1000) / 1000 : null,
  };
}

function shareOf({ good, bad }: { good: number; bad: number }): number {
  return good / (good + bad);
}
