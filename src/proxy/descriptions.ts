import { type TSchema, Type } from '@sinclair/typebox';
import { type Answer, type Description, location } from '../http/describe.ts';
import { statsExample, statsSchema } from './pool/stats.ts';
import * as schemas from './schemas.ts';

/** Examples for the API description. */
const proxyExample = {
  id: 4711,
  ip: '203.0.113.9',
  port: 8080,
  protocol: 'http',
  country: 'DE',
  response_time: 412,
  last_checked: '2026-01-31 08:05:09',
  status: 'alive',
  source: 'example-list',
  anonymity: 'elite',
  exit_ip: '203.0.113.9',
  proof: 'relayed',
  tampering: [],
  uptime: 0.973,
  score: 0.968,
  checks: 118,
  successes: 116,
  first_seen: '2026-01-29 06:00:41',
  last_alive: '2026-01-31 08:05:09',
  error: null,
  login: null,
  recent_checks: '111111111111110111111111111111',
};

const jobExample = {
  id: 'mkvxq3b2a1c9',
  state: 'running',
  stage: 'verify',
  error: null,
  fetched: 81_230,
  candidates: 36_014,
  checked: 12_790,
  alive: 611,
  skipped: 0,
  removed: 0,
  judge: 'up',
  failures: 0,
  retry_at: null,
  started_at: '2026-01-31 08:00:00',
  finished_at: null,
};

const sourceProgressExample = {
  name: 'example-list',
  state: 'done',
  found: 9120,
  fresh: 402,
  checked: 390,
  alive: 31,
  error: null,
  yield: 0.071,
  paused_until: null,
};

const sourceExample = {
  name: 'example-list',
  protocol: 'http',
  found: 9120,
  fresh: 402,
  checked: 20_390,
  alive: 1448,
  yield: 0.071,
  failures: 0,
  last_read: '2026-01-31 08:00:02',
  last_error: null,
  paused_until: null,
};

const ok = (description: string, schema: TSchema, example: unknown): Record<200, Answer> => ({
  200: { description, schema, example },
});

/** Schema and example of the statistics, for the path that both services share. */
export const statsAnswer = {
  description: 'The statistics.',
  schema: statsSchema,
  example: statsExample,
} satisfies Answer;

const text = (example: string) => ({ schema: Type.String(), example });

export const list: Description = {
  id: 'listProxies',
  summary: 'List proxies',
  description:
    'The most reliable come first, unless `sort` or `random` is set. Filters ignore case. In text formats, proxies with a login are listed for the administrator only, with the login included.',
  answers: {
    200: {
      description: 'The matching proxies, as JSON or as lines of text.',
      content: {
        'application/json': {
          schema: schemas.listSchema,
          example: {
            success: true,
            total: 317,
            count: 1,
            proxies: [proxyExample],
            query: { protocol: 'http', country: 'DE', status: 'alive', limit: 1 },
          },
        },
        'text/plain': text('203.0.113.9:8080\n'),
      },
    },
    304: { description: 'Not changed since the response with the `ETag` in `If-None-Match`.' },
  },
  errors: [400, 401],
};

export const exportList: Description = {
  id: 'exportProxies',
  summary: 'Export working proxies',
  description:
    'A streamed download, by default the most reliable first (`sort`). The administrator also gets logins: as `protocol://user:password@ip:port`, or `ip:port:user:password` with `format=text`. For everyone else, records mask the login and lines of text leave those proxies out.',
  answers: {
    200: {
      description: 'One proxy per line.',
      content: {
        'text/plain': text('http://203.0.113.9:8080\nsocks5://198.51.100.7:1080\n'),
        'text/csv': text('protocol,ip,port\nhttp,203.0.113.9,8080\n'),
        'application/json': { schema: Type.Array(schemas.proxySchema), example: [proxyExample] },
      },
      headers: {
        'Content-Disposition': {
          description: 'Names the download: proxies.txt, .csv or .json.',
          schema: Type.String(),
        },
      },
    },
  },
  errors: [400, 401],
};

export const status: Description = {
  id: 'getProxyStatus',
  summary: 'Get the status of the pool',
  answers: ok('The state of the pool and of its refresh.', schemas.statusSchema, {
    status: 'running',
    condition: 'refreshing',
    last_refresh: '2026-01-31 08:02',
    next_refresh: null,
    judge: 'up',
    judges: { http: 'up', https: 'up' },
    witnesses: 'up',
    refresh: jobExample,
  }),
};

export const filters: Description = {
  id: 'getProxyFilters',
  summary: 'List filter values',
  answers: ok('The values that filters accept. Countries are those in the pool.', schemas.filtersSchema, {
    protocols: ['http', 'https', 'socks4', 'socks5'],
    countries: ['BR', 'DE', 'ZZ'],
    statuses: ['alive', 'dead'],
  }),
};

export const details: Description = {
  id: 'getProxy',
  summary: 'Get a proxy',
  description:
    'With the administrator token, the response includes `reports`. Others do not get them, as they name the sites that clients visit.',
  answers: ok('The proxy.', schemas.proxyDetailsSchema, {
    ...proxyExample,
    reports: [{ at: '2026-01-31 08:04:12', ok: false, target: 'example.com', error: 'timeout' }],
  }),
  errors: [400, 404],
};

export const startTest: Description = {
  id: 'startProxyTest',
  summary: 'Start a test of a proxy',
  description:
    'Returns at once. The result appears on the proxy within seconds. Calls during a test join it.',
  answers: {
    202: {
      description: 'The test has started.',
      schema: schemas.testStartedSchema,
      example: { success: true, id: 4711, message: 'The test has started.' },
      headers: location('URL of the proxy.'),
    },
  },
  errors: [400, 404],
};

export const quickTest: Description = {
  id: 'testProxyQuick',
  summary: 'Test a proxy and wait for the result',
  description:
    'Only public addresses are tested. With `proxy_id`, the result is saved to that proxy; its address must match. ' +
    'Without it, anyone but the administrator gets just `not_working` for an address that is not a working proxy, ' +
    'always after 5 seconds; a proxy that takes longer counts as `not_working`.',
  answers: ok('The result of the test.', schemas.quickTestSchema, {
    success: true,
    alive: true,
    status: 'alive',
    response_time: 412,
    connect_time: 63,
    first_byte_time: 371,
    country: 'DE',
    anonymity: 'elite',
    exit_ip: '203.0.113.9',
    tampering: [],
    proof: 'signed',
    error: null,
  }),
  errors: [400, 404, 409, 413],
};

export const report: Description = {
  id: 'reportProxy',
  summary: 'Report whether a proxy worked',
  description: 'A proxy reported as failed is rechecked soon. Reports alone never change its status.',
  answers: ok('The report is recorded.', schemas.reportSchema, {
    success: true,
    id: 4711,
    next_check: '2026-01-31 08:05:39',
  }),
  errors: [400, 404, 413],
};

export const startRefresh: Description = {
  id: 'startRefresh',
  summary: 'Start a refresh of the pool',
  description:
    'Fetches, verifies, stores and cleans up; this takes 1 to 3 minutes. If one is already running, returns it. If ' +
    '`ADMIN_TOKEN` is not set, a refresh that succeeded less than ten minutes ago is returned too, and none is started. ' +
    'Only one that the administrator starts may check more than `PROXY_CHECKS_PER_HOUR` allows.',
  answers: {
    200: {
      description: 'A recent refresh succeeded; no new one was started.',
      schema: schemas.startedSchema,
      example: { success: true, job: { ...jobExample, state: 'done' } },
      headers: location('URL of the refresh.'),
    },
    202: {
      description: 'The refresh is running.',
      schema: schemas.startedSchema,
      example: { success: true, job: jobExample },
      headers: location('URL of the refresh.'),
    },
  },
};

export const currentRefresh: Description = {
  id: 'getRefresh',
  summary: 'Get the current or last refresh',
  answers: ok('The progress of the refresh.', schemas.startedSchema, { success: true, job: jobExample }),
};

export const events: Description = {
  id: 'followRefresh',
  summary: 'Follow refreshes as server-sent events',
  description:
    '`progress` events carry the job as JSON with the lists that changed since the last event, at most four per second. With `pool=true`, `pool` events carry the statistics of the pool, at most one every five seconds.',
  answers: {
    200: {
      description: 'An endless stream of events.',
      content: {
        'text/event-stream': text(
          `id: mkvxq3b2a1c9.running\nevent: progress\ndata: ${JSON.stringify({ ...jobExample, sources: [sourceProgressExample] })}\n\n`,
        ),
      },
    },
  },
};

export const sources: Description = {
  id: 'listSources',
  summary: 'List the sources of proxies',
  description: 'In the order of the settings.',
  answers: ok('The lists and how each performs.', schemas.sourcesSchema, {
    success: true,
    total: 85,
    count: 1,
    sources: [sourceExample],
  }),
  errors: [400],
};

export const judge: Description = {
  id: 'judge',
  summary: 'Show a request as the server received it',
  description: 'Checks fetch this through a proxy to see what the proxy passes on.',
  answers: ok(
    'The client address and headers of the request.',
    Type.Object({
      token: Type.String({ description: 'The `token` from the query.' }),
      address: Type.String(),
      headers: Type.Record(Type.String(), Type.String()),
      proof: Type.Optional(Type.String()),
    }),
    { token: 'q1w2e3', address: '203.0.113.9', headers: { 'user-agent': 'curl/8.14.1' } },
  ),
};
