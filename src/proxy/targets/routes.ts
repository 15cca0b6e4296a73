import { type Static, Type } from '@sinclair/typebox';
import { type Description, successOf } from '../../http/describe.ts';
import { type Call, type Route, route } from '../../http/route.ts';
import { unkept } from '../../http/unkept.ts';
import { integer, named, nullable, text } from '../../lib/schema.ts';
import { partOf, partQuery } from '../schemas.ts';
import type { TargetFacts, Targets } from './targets.ts';

const targetSchema = named('Target', {
  name: nullable(Type.String(), 'Name given by the operator.'),
  site: text('Domain or IP address that results are kept for.'),
  url: nullable(Type.String(), 'URL that proxies are tested with.'),
  proxies: integer('Number of proxies with results.'),
  working: integer('Number of proxies with more recent successes than failures.'),
  success: nullable(
    Type.Number(),
    'Share of recent results that were successes, over all proxies. `null` before the first.',
  ),
});

const targetExample = {
  ...{ name: 'search', site: 'example.com', url: 'https://www.example.com/' },
  ...{ proxies: 212, working: 140, success: 0.682 },
};

const targetsQuery = partQuery('targets');

const about: Description = {
  id: 'listTargets',
  summary: 'List target sites',
  description:
    'Sites for which the server knows which proxies reach them. Everyone sees the targets named by the operator. The others show what users visit, so only the administrator sees them.',
  answers: {
    200: successOf(
      'The targets with their results.',
      {
        total: integer('Number of targets that you may see.'),
        count: integer('Number of targets in this response.'),
        targets: Type.Array(targetSchema),
      },
      { total: 1, count: 1, targets: [targetExample] },
    ),
  },
  errors: [400],
};

type KnownTargets = Pick<Targets, 'known'>;

export function targetRoutes(targets: KnownTargets): Route[] {
  return [route('GET /api/targets', (call) => list(targets, call), { query: targetsQuery, about })];
}

/** Lists the sites that the operator has named and, for the administrator, all others. */
function list(targets: KnownTargets, { query, context }: Call<{ query: typeof targetsQuery }>): Response {
  const all = targets.known().filter(({ named }) => context.admin || named !== null);
  const page = partOf(all, query).map(targetView);
  return unkept({ success: true, total: all.length, count: page.length, targets: page });
}

function targetView({ named, site, facts }: TargetFacts): Static<typeof targetSchema> {
  const pairs = [...(facts?.pairs.values() ?? [])];
  return {
    name: named?.name ?? null,
    site,
    url: named?.url ?? null,
    proxies: pairs.length,
    working: pairs.filter(({ good, bad }) => good > bad).length,
    success: facts ? Math.round((facts.good / (facts.good + facts.bad)) * 1000) / 1000 : null,
  };
}
