import { type TSchema, Type } from '@sinclair/typebox';
import { type Answer, describe } from '../http/describe.ts';
import { jobExample, proxyExample, sourceExample, sourceProgressExample, statsExample } from './examples.ts';
import * as schemas from './schemas.ts';

const tag = 'Proxy pool';

const ok = (description: string, schema: TSchema, example: unknown): Record<200, Answer> => ({
  200: { description, schema, example },
});

/** Shape and example of the statistics, for the path that both services have. */
export const statsAnswer = {
  description: 'The numbers.',
  schema: schemas.statsSchema,
  example: statsExample,
} satisfies Answer;

const text = (example: string) => ({ schema: Type.String(), example });

export const list = describe({
  id: 'listProxies',
  tag,
  summary: 'Proxies, filtered',
  description:
    'The most dependable first, unless `sort` or `random` say otherwise. Filters take any letter case. Proxies that ask for a login are in lines for the administrator alone, and with it.',
  answers: {
    200: {
      description: 'The matches, as JSON or as lines.',
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
    304: { description: 'Nothing has changed since the answer that `If-None-Match` names.' },
  },
  errors: [400, 401],
});

export const exportList = describe({
  id: 'exportProxies',
  tag,
  summary: 'All usable proxies as a file',
  description:
    'Streamed, the most dependable first unless `sort` says otherwise. For the administrator logins stand in it: as `protocol://user:password@ip:port`, as `ip:port:user:password` with `format=text`, and in records. For others they are masked in records, and their lines left out.',
  answers: {
    200: {
      description: 'One proxy a line.',
      content: {
        'text/plain': text('http://203.0.113.9:8080\nsocks5://198.51.100.7:1080\n'),
        'text/csv': text('protocol,ip,port\nhttp,203.0.113.9,8080\n'),
        'application/json': { schema: Type.Array(schemas.proxySchema), example: [proxyExample] },
      },
      headers: {
        'Content-Disposition': {
          description: 'A download named proxies.txt, .csv or .json.',
          schema: Type.String(),
        },
      },
    },
  },
  errors: [400, 401],
});

export const status = describe({
  id: 'getProxyStatus',
  tag,
  summary: 'How the service is doing',
  answers: ok('The state of the service and of its refresh.', schemas.statusSchema, {
    status: 'running',
    condition: 'refreshing',
    last_refresh: '2026-01-31 08:02',
    next_refresh: null,
    judge: 'up',
    judges: { http: 'up', https: 'up' },
    witnesses: 'up',
    refresh: jobExample,
  }),
});

export const filters = describe({
  id: 'getProxyFilters',
  tag,
  summary: 'What can be filtered by',
  answers: ok('The choices; countries are those in the pool.', schemas.filtersSchema, {
    protocols: ['http', 'https', 'socks4', 'socks5'],
    countries: ['BR', 'DE', 'ZZ'],
    statuses: ['alive', 'dead'],
  }),
});

export const details = describe({
  id: 'getProxy',
  tag,
  summary: 'One proxy',
  answers: ok('The record.', schemas.proxySchema, proxyExample),
  errors: [400, 404],
});

export const startTest = describe({
  id: 'startProxyTest',
  tag,
  summary: 'Starts a test of one proxy',
  description:
    'Answers at once; the result shows on the proxy within seconds. A second call joins the running test.',
  answers: {
    202: {
      description: 'The test has started.',
      schema: schemas.testStartedSchema,
      example: { success: true, id: 4711, message: 'The test has started.' },
      headers: { Location: { description: 'The proxy.', schema: Type.String() } },
    },
  },
  errors: [400, 404],
});

export const quickTest = describe({
  id: 'testProxyQuick',
  tag,
  summary: 'Tests a proxy and waits for the result',
  description:
    'Only public addresses are dialled. With `proxy_id` the result is written to that record, whose address must be the same. ' +
    'Without it, callers other than the administrator are told only `not_working` about an address that is not a working proxy, ' +
    'after 5 seconds, whatever is there; a proxy that needs longer is `not_working` as well.',
  answers: ok('The test ran; `alive` says how it ended.', schemas.quickTestSchema, {
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
});

export const report = describe({
  id: 'reportProxy',
  tag,
  summary: 'Tells whether a proxy worked for you',
  description: 'A proxy that did not is checked again soon. Reports alone never change its status.',
  answers: ok('Taken note of.', schemas.reportSchema, {
    success: true,
    id: 4711,
    next_check: '2026-01-31 08:05:39',
  }),
  errors: [400, 404, 413],
});

export const startRefresh = describe({
  id: 'startRefresh',
  tag,
  summary: 'Starts a refresh of the pool',
  description:
    'Fetch, verify, store, clean up: 1 to 3 minutes. While one runs, that one is answered. Where `ADMIN_TOKEN` is not set, so is one ' +
    'that went well less than ten minutes ago.',
  answers: {
    200: {
      description: 'The refresh that has just gone well; none was started.',
      schema: schemas.startedSchema,
      example: { success: true, job: { ...jobExample, state: 'done' } },
      headers: { Location: { description: 'Where it shows.', schema: Type.String() } },
    },
    202: {
      description: 'The refresh that runs.',
      schema: schemas.startedSchema,
      example: { success: true, job: jobExample },
      headers: { Location: { description: 'Where its progress shows.', schema: Type.String() } },
    },
  },
  errors: [401],
  admin: true,
});

export const currentRefresh = describe({
  id: 'getRefresh',
  tag,
  summary: 'The refresh that runs, or else the last one',
  answers: ok('Its progress.', schemas.startedSchema, { success: true, job: jobExample }),
});

export const events = describe({
  id: 'followRefresh',
  tag,
  summary: 'The progress of refreshes as server-sent events',
  description:
    'Each event `progress` carries the job as JSON, at most four a second, and those of its lists that changed since the event before. With `pool=true`, each event `pool` carries the statistics of the pool, at most one in five seconds.',
  answers: {
    200: {
      description: 'An endless stream.',
      content: {
        'text/event-stream': text(
          `id: mkvxq3b2a1c9.running\nevent: progress\ndata: ${JSON.stringify({ ...jobExample, sources: [sourceProgressExample] })}\n\n`,
        ),
      },
    },
  },
});

export const sources = describe({
  id: 'listSources',
  tag,
  summary: 'The lists that proxies come from',
  description: 'In the order of the configuration.',
  answers: ok('What is known of each.', schemas.sourcesSchema, {
    success: true,
    total: 85,
    count: 1,
    sources: [sourceExample],
  }),
  errors: [400],
});

export const retrySource = describe({
  id: 'retrySource',
  tag,
  summary: 'Ends the pause of a list',
  description: 'The next refresh reads it, however it fared before.',
  answers: ok('The list.', schemas.sourceRetrySchema, { success: true, source: sourceExample }),
  errors: [401, 404],
  admin: true,
});

export const judge = describe({
  id: 'judge',
  tag,
  summary: 'Shows a request as it arrived here',
  description: 'What checks of proxies ask, to see whether and how a proxy passes a request on.',
  answers: ok(
    'The address it came from and its headers.',
    Type.Object({
      token: Type.String({ description: 'The `token` of the query.' }),
      address: Type.String(),
      headers: Type.Record(Type.String(), Type.String()),
      proof: Type.Optional(Type.String()),
    }),
    { token: 'q1w2e3', address: '203.0.113.9', headers: { 'user-agent': 'curl/8.14.1' } },
  ),
});
