import { Type } from '@sinclair/typebox';
import { oneOf } from '../lib/schema.ts';
import { CONDITIONS } from './condition.ts';
import { ANONYMITIES, CHECK_ERRORS, PROOFS, PROTOCOLS, STATUSES } from './proxy.ts';
import { JOB_ERRORS, JOB_STATES, SOURCE_STATES, STAGES } from './refresh/progress.ts';

const MAX_ID = Number.MAX_SAFE_INTEGER;
const TIMESTAMP = 'UTC, `YYYY-MM-DD HH:MM:SS`.';

const PROOF =
  '`tls`: a page came through it over TLS with a verified certificate; `signed`: an answer of our own judge; `relayed`: a part of a file that it could not know; `echoed`: only a page that it could have made up. `null`: not known yet.';
const JUDGE_STATES = ['none', 'unknown', 'up', 'down'] as const;

/** What is not known is ignored, not refused. */
const OPEN = { additionalProperties: true };

const id = Type.Integer({ minimum: 1, maximum: MAX_ID, description: 'The id of a proxy.' });

export const idParams = Type.Object({ id });

export const quickTestBody = Type.Object(
  {
    ip: Type.String({ minLength: 2, maxLength: 64, description: 'A literal IPv4 or IPv6 address.' }),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    protocol: Type.Optional(oneOf(PROTOCOLS, { default: 'http' })),
    proxy_id: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_ID,
        description: 'The proxy to which the outcome is written.',
      }),
    ),
  },
  OPEN,
);

export const reportBody = Type.Object(
  {
    ok: Type.Boolean({ description: 'Whether the proxy worked for you.' }),
    target: Type.Optional(Type.String({ maxLength: 2000, description: 'What you wanted to reach.' })),
    error: Type.Optional(Type.String({ maxLength: 2000, description: 'What went wrong.' })),
  },
  OPEN,
);

const nullable = <T extends ReturnType<typeof oneOf | typeof Type.String | typeof Type.Integer>>(schema: T) =>
  Type.Union([schema, Type.Null()]);

export const proxySchema = Type.Object(
  {
    id,
    ip: Type.String({ description: 'Address, IPv4 or IPv6.' }),
    port: Type.Integer(),
    protocol: oneOf(PROTOCOLS, {
      description: '`https`: an HTTP proxy through which CONNECT to a verified TLS site works.',
    }),
    country: Type.String({
      description: 'Of the address that targets see where it is known, else of the proxy; `ZZ`: not known.',
    }),
    response_time: Type.Number({ description: 'Of the last passed check, in ms; 0: none passed yet.' }),
    last_checked: Type.String({ description: TIMESTAMP }),
    status: oneOf(STATUSES, { description: 'What the last check said.' }),
    source: Type.String({ description: 'The list that named it first.' }),
    anonymity: nullable(
      oneOf(ANONYMITIES, {
        description:
          '`transparent`: targets see your address; `anonymous`: they see a proxy; `elite`: neither.',
      }),
    ),
    exit_ip: nullable(Type.String({ description: 'The address that targets see.' })),
    proof: nullable(oneOf(PROOFS, { description: PROOF })),
    tampering: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: 'Names of request headers that it added or changed in the last passed check; empty: none.',
    }),
    uptime: Type.Union([Type.Number(), Type.Null()], {
      description:
        'Share of time known alive, 0 to 1, over about 24 h, recent hours first; `null` while it was watched for less than an hour.',
    }),
    score: Type.Number({
      description: 'What orders, 0 to 1: the uptime that may be expected; new ones start low.',
    }),
    checks: Type.Integer({ description: 'Checks so far.' }),
    successes: Type.Integer({ description: 'Of these, passed.' }),
    first_seen: Type.String({ description: TIMESTAMP }),
    last_alive: nullable(Type.String({ description: TIMESTAMP })),
    error: nullable(oneOf(CHECK_ERRORS, { description: 'Why the last check failed.' })),
    login: nullable(
      Type.String({
        description:
          'Whether it asks for a login: `null` where it does not, else `***`. The export shows it to the administrator.',
      }),
    ),
    recent_checks: Type.String({
      description: 'The latest checks, 30 at most, oldest first: `1` passed, `0` failed.',
    }),
  },
  { $id: 'Proxy' },
);

export const listSchema = Type.Object(
  {
    success: Type.Literal(true),
    total: Type.Integer({ description: 'All matches.' }),
    count: Type.Integer({ description: 'The entries in this answer.' }),
    proxies: Type.Array(proxySchema),
    query: Type.Object(
      {
        protocol: nullable(Type.String()),
        country: nullable(Type.String()),
        status: Type.String(),
        limit: Type.Integer(),
      },
      { additionalProperties: true, description: 'The filters that were applied.' },
    ),
  },
  { $id: 'ProxyList' },
);

export const statsSchema = Type.Object(
  {
    alive: Type.Integer({ description: 'Usable proxies.' }),
    total: Type.Integer({ description: 'All proxies.' }),
    avg_response_time: Type.Number({ description: 'Mean response time of the usable ones, in ms.' }),
    countries: Type.Integer({ description: 'Countries of the usable ones.' }),
  },
  { $id: 'PoolStats' },
);

export const filtersSchema = Type.Object(
  {
    protocols: Type.Array(Type.String()),
    countries: Type.Array(Type.String()),
    statuses: Type.Array(Type.String()),
  },
  { $id: 'ProxyFilters' },
);

const count = (description: string) => Type.Integer({ description });

export const jobSchema = Type.Object(
  {
    id: Type.String({ description: 'Empty before the first refresh.' }),
    state: oneOf(JOB_STATES),
    stage: nullable(oneOf(STAGES, { description: 'The stage that runs, or ran last.' })),
    error: nullable(
      oneOf(JOB_ERRORS, {
        description:
          'Why it failed. `network_down`: most lists could not be reached, which is our fault rather than theirs.',
      }),
    ),
    fetched: count('Entries of all lists, duplicates included.'),
    candidates: count('Proxies that are up for a check: known ones, and new ones of lists.'),
    checked: count('Of these, checked so far.'),
    alive: count('Of these, alive.'),
    skipped: count('Candidates for which the time was too short; they have their turn later.'),
    removed: count('Proxies that the cleanup removed.'),
    judge: oneOf(['unknown', 'up', 'down'], { description: 'Whether a judge answered.' }),
    failures: count('Failed refreshes in a row, this one included.'),
    retry_at: nullable(
      Type.String({ description: `After a failure: when it is tried again by itself. ${TIMESTAMP}` }),
    ),
    started_at: nullable(Type.String({ description: TIMESTAMP })),
    finished_at: nullable(Type.String({ description: TIMESTAMP })),
  },
  { $id: 'RefreshJob' },
);

const yieldSchema = Type.Union([Type.Number(), Type.Null()], {
  description: 'Share of its entries that work, 0 to 1, over its latest refreshes; first checks alone count.',
});
const pausedUntil = nullable(
  Type.String({
    description: `A list that fails, is empty or holds nothing that works is left out until then. ${TIMESTAMP}`,
  }),
);

/** How a list fares in a refresh. */
export const sourceProgressSchema = Type.Object({
  name: Type.String(),
  state: oneOf(SOURCE_STATES),
  found: count('Usable entries, duplicates included.'),
  fresh: count('Of these, nobody had named before.'),
  checked: count('Of the fresh ones, checked.'),
  alive: count('Of these, alive.'),
  error: nullable(Type.String()),
  yield: yieldSchema,
  paused_until: pausedUntil,
});

/** What is known of a list, over all refreshes. */
export const sourceSchema = Type.Object(
  {
    name: Type.String(),
    protocol: nullable(
      oneOf(PROTOCOLS, { description: 'Of entries that do not say it; `null`: each is tried.' }),
    ),
    found: count('Usable entries when it was last read, duplicates included.'),
    fresh: count('Of these, nobody had named before.'),
    checked: count('First checks of its entries so far.'),
    alive: count('Of these, alive.'),
    yield: yieldSchema,
    failures: count('Readings in a row that failed.'),
    last_read: nullable(Type.String({ description: TIMESTAMP })),
    last_error: nullable(Type.String()),
    paused_until: pausedUntil,
  },
  { $id: 'Source' },
);

const MOST_SOURCES = 500;
export const sourcesQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        default: 100,
        description: `Most lists that are returned; above ${MOST_SOURCES} is served as ${MOST_SOURCES}.`,
      }),
    ),
    offset: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1e6, default: 0, description: 'Lists to leave out at the start.' }),
    ),
  },
  OPEN,
);

export const sourcesSchema = Type.Object(
  {
    success: Type.Literal(true),
    total: Type.Integer({ description: 'All lists.' }),
    count: Type.Integer({ description: 'The lists in this answer.' }),
    sources: Type.Array(sourceSchema),
  },
  { $id: 'SourceList' },
);

export const sourceParams = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200, description: 'The name of a list.' }),
});
export const sourceRetrySchema = Type.Object(
  { success: Type.Literal(true), source: sourceSchema },
  { $id: 'SourceRetried' },
);

export const statusSchema = Type.Object(
  {
    status: Type.String({ description: '`running`.' }),
    condition: oneOf(CONDITIONS, {
      description:
        'How the pool is doing. `starting`, `waiting`: no refresh has run; `filling`: the first one runs; `refreshing`; `ready`; `network_down`: neither lists nor judges can be reached; `lists_failing`: no list could be read; `no_judge`: nothing can be tested; `failed`: see `refresh.error`; `stale`: the last good refresh was too long ago.',
    }),
    last_refresh: Type.String({
      description: 'End of the last good refresh, UTC, `YYYY-MM-DD HH:MM`; empty before the first.',
    }),
    next_refresh: nullable(
      Type.String({
        description: `When the next refresh begins by itself; \`null\` while one runs. ${TIMESTAMP}`,
      }),
    ),
    judge: oneOf(['unknown', 'up', 'down'], {
      description: 'While it is `down`, no proxy is tested and none is demoted.',
    }),
    judges: Type.Object(
      { http: oneOf(JUDGE_STATES), https: oneOf(JUDGE_STATES) },
      {
        description:
          'The same by kind: `http` proxies need judges without TLS, the others judges with it. `none`: there is no such judge.',
      },
    ),
    witnesses: oneOf(JUDGE_STATES, {
      description: 'While no witness is available, new `http` proxies are listed with the proof `echoed`.',
    }),
    refresh: jobSchema,
  },
  { $id: 'PoolStatus' },
);

export const startedSchema = Type.Object({ success: Type.Literal(true), job: jobSchema }, { $id: 'Refresh' });

export const testStartedSchema = Type.Object(
  {
    success: Type.Literal(true),
    id,
    message: Type.String(),
  },
  { $id: 'TestStarted' },
);

export const quickTestSchema = Type.Object(
  {
    success: Type.Literal(true),
    alive: Type.Boolean(),
    status: oneOf(STATUSES),
    response_time: Type.Union([Type.Number(), Type.Null()], { description: 'Of the whole check, in ms.' }),
    connect_time: Type.Union([Type.Number(), Type.Null()], {
      description: 'Until the proxy was connected, in ms.',
    }),
    first_byte_time: Type.Union([Type.Number(), Type.Null()], {
      description: 'Until the first byte of the answer, in ms.',
    }),
    country: Type.String(),
    anonymity: nullable(oneOf(ANONYMITIES)),
    exit_ip: nullable(Type.String()),
    tampering: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: 'Names of request headers that the proxy added or changed; empty: none.',
    }),
    proof: nullable(oneOf(PROOFS)),
    error: nullable(oneOf([...CHECK_ERRORS, 'not_working'])),
  },
  { $id: 'ProxyTest' },
);

export const reportSchema = Type.Object(
  {
    success: Type.Literal(true),
    id,
    next_check: Type.String({ description: `When it is checked next. ${TIMESTAMP}` }),
  },
  { $id: 'ReportNoted' },
);
