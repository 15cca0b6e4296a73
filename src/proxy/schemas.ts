import { type Static, Type } from '@sinclair/typebox';
import { flag, integer, listOf, named, nullable, number, oneOf, text } from '../lib/schema.ts';
import { CONDITIONS } from './pool/status.ts';
import { ANONYMITIES, CHECK_ERRORS, PROOFS, PROTOCOLS, STATUSES } from './proxy.ts';
import { JOB_ERRORS, JOB_STATES, SOURCE_STATES, STAGES } from './refresh/progress.ts';

const MAX_ID = Number.MAX_SAFE_INTEGER;
const TIMESTAMP = 'UTC, `YYYY-MM-DD HH:MM:SS`.';

const PROOF =
  'How the last check proved the proxy. `tls`: it delivered a page over TLS with a valid certificate. `signed`: it delivered a signed answer of this server. `relayed`: it delivered a part of a file that it could not know. `echoed`: it delivered a page that it could have made up. `null`: not known yet.';
const JUDGE_STATES = ['none', 'unknown', 'up', 'down'] as const;

/** Unknown fields are ignored rather than rejected. */
const OPEN = { additionalProperties: true };

const id = integer('ID of the proxy.', { minimum: 1, maximum: MAX_ID });

export const idParams = Type.Object({ id });

export const quickTestBody = Type.Object(
  {
    ip: text('A literal IPv4 or IPv6 address.', { minLength: 2, maxLength: 64 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    protocol: Type.Optional(oneOf(PROTOCOLS, undefined, { default: 'http' })),
    proxy_id: Type.Optional(
      integer('ID of the proxy that the result is saved to.', { minimum: 1, maximum: MAX_ID }),
    ),
  },
  OPEN,
);

export const reportBody = Type.Object(
  {
    ok: flag('Whether the proxy worked for you.'),
    target: Type.Optional(
      text('The site that you tried to reach: a domain, a URL or a name from `GET /api/targets`.', {
        maxLength: 2000,
      }),
    ),
    error: Type.Optional(text('What went wrong.', { maxLength: 2000 })),
  },
  OPEN,
);

export const proxySchema = named('Proxy', {
  id,
  ip: text('IPv4 or IPv6 address.'),
  port: Type.Integer(),
  protocol: oneOf(
    PROTOCOLS,
    '`https` is an HTTP proxy that passes CONNECT to a TLS site with a valid certificate.',
  ),
  country: text(
    'Country of the address that targets see, or of the proxy if that is unknown or not proven. `ZZ` if the country is unknown.',
  ),
  response_time: number('Response time of the last passed check, in ms; 0 before the first.'),
  last_checked: text(TIMESTAMP),
  status: oneOf(STATUSES, 'Result of the last check.'),
  source: text('The list in which it first appeared.'),
  anonymity: nullable(
    oneOf(
      ANONYMITIES,
      '`transparent`: targets see your address. `anonymous`: they see only that a proxy is used. `elite`: they see neither.',
    ),
  ),
  exit_ip: nullable(
    text(
      'The address that targets see. With the proof `relayed` or `echoed`, the proxy may have made it up.',
    ),
  ),
  proof: nullable(oneOf(PROOFS, PROOF)),
  tampering: nullable(
    Type.Array(Type.String()),
    'Request headers that the proxy added, changed or removed in the last passed check.',
  ),
  uptime: nullable(
    Type.Number(),
    'Share of about the last 24 h in which it was alive, 0 to 1; recent hours weigh more. `null` in its first hour.',
  ),
  score: number('Expected uptime, 0 to 1, which orders the list. New proxies start low.'),
  checks: integer('Number of checks so far.'),
  successes: integer('Number of passed checks.'),
  first_seen: text(TIMESTAMP),
  last_alive: nullable(text(TIMESTAMP)),
  error: nullable(oneOf(CHECK_ERRORS, 'Why the last check failed.')),
  login: nullable(
    text('`***` if the proxy needs a login, `null` if not. The administrator finds the login in the export.'),
  ),
  recent_checks: text('The last 30 checks, oldest first: `1` passed, `0` failed.'),
});

const userReportSchema = Type.Object({
  at: text(TIMESTAMP),
  ok: flag('Whether the proxy worked.'),
  target: nullable(text('The host that the client tried to reach.')),
  error: nullable(text('What went wrong, as the client described it.')),
});

export const proxyDetailsSchema = named('ProxyDetails', {
  ...proxySchema.properties,
  reports: Type.Optional(
    listOf(
      userReportSchema,
      'The last 20 reports about the proxy, newest first. Only with the administrator token.',
    ),
  ),
});

export const listSchema = named('ProxyList', {
  success: Type.Literal(true),
  total: integer('Number of matching proxies.'),
  count: integer('Number of proxies in this response.'),
  proxies: Type.Array(proxySchema),
  query: Type.Object(
    {
      protocol: nullable(Type.String()),
      country: nullable(Type.String()),
      status: Type.String(),
      limit: Type.Integer(),
    },
    { additionalProperties: true, description: 'The filters applied.' },
  ),
});

export const filtersSchema = named('ProxyFilters', {
  protocols: Type.Array(Type.String()),
  countries: Type.Array(Type.String()),
  statuses: Type.Array(Type.String()),
});

export const jobSchema = named('RefreshJob', {
  id: text('Empty before the first refresh.'),
  state: oneOf(JOB_STATES),
  stage: nullable(oneOf(STAGES, 'The current or last stage.')),
  error: nullable(
    oneOf(
      JOB_ERRORS,
      'Why the refresh failed. `network_down`: most lists could not be reached, so the network of the server is probably down. `lists_failing`: no list could be read, or all are paused; known proxies were checked.',
    ),
  ),
  fetched: integer('Entries in all lists, including duplicates.'),
  candidates: integer('Known and new proxies to check.'),
  checked: integer('Candidates checked so far.'),
  alive: integer('Of these, alive.'),
  skipped: integer('Candidates left for later because time ran out.'),
  removed: integer('Proxies removed by the cleanup.'),
  judge: oneOf(['unknown', 'up', 'down'], 'Whether a judge responds.'),
  failures: integer('Failed refreshes in a row, including this one.'),
  retry_at: nullable(text(`After a failure: time of the next automatic try. ${TIMESTAMP}`)),
  started_at: nullable(text(TIMESTAMP)),
  finished_at: nullable(text(TIMESTAMP)),
});

const yieldSchema = nullable(
  Type.Number(),
  'Share of its entries that passed their first check, 0 to 1, over recent refreshes.',
);
const pausedUntil = nullable(
  text(
    `Refreshes skip the list until then because it failed, was empty or had no working proxies. ${TIMESTAMP}`,
  ),
);

/** The state of a list in a refresh. */
export const sourceProgressSchema = Type.Object({
  name: Type.String(),
  state: oneOf(SOURCE_STATES),
  found: integer('Valid entries, including duplicates.'),
  fresh: integer('Of these, new ones.'),
  checked: integer('Of the fresh ones, checked.'),
  alive: integer('Of these, alive.'),
  error: nullable(Type.String()),
  yield: yieldSchema,
  paused_until: pausedUntil,
});

/** The health of a list, over all refreshes. */
export const sourceSchema = named('Source', {
  name: Type.String(),
  protocol: nullable(oneOf(PROTOCOLS, 'Protocol of entries without one. `null`: every protocol is tried.')),
  found: integer('Valid entries in the last reading, including duplicates.'),
  fresh: integer('Of these, new ones.'),
  checked: integer('Number of its entries checked for the first time so far.'),
  alive: integer('Of these, alive.'),
  yield: yieldSchema,
  failures: integer('Failed readings in a row.'),
  last_read: nullable(text(TIMESTAMP)),
  last_error: nullable(Type.String()),
  paused_until: pausedUntil,
});

export const MOST_ENTRIES = 500;

/** The query of a list that is returned in parts. `items`: what it lists. */
export const partQuery = (items: string) =>
  Type.Object(
    {
      limit: Type.Optional(
        integer(
          `Maximum number of ${items} to return. Values above ${MOST_ENTRIES} count as ${MOST_ENTRIES}.`,
          { minimum: 1, default: 100 },
        ),
      ),
      offset: Type.Optional(integer(`Number of ${items} to skip.`, { minimum: 0, maximum: 1e6, default: 0 })),
    },
    OPEN,
  );

/** Returns the part of all entries that such a query asks for. */
export function partOf<T>(
  all: readonly T[],
  { limit = 100, offset = 0 }: Static<ReturnType<typeof partQuery>>,
): T[] {
  return all.slice(offset, offset + Math.min(limit, MOST_ENTRIES));
}

export const sourcesQuery = partQuery('lists');

export const sourcesSchema = named('SourceList', {
  success: Type.Literal(true),
  total: integer('Number of lists.'),
  count: integer('Number of lists in this response.'),
  sources: Type.Array(sourceSchema),
});

export const statusSchema = named('PoolStatus', {
  status: text('Always `running`.'),
  condition: oneOf(
    CONDITIONS,
    'How the pool is doing. `starting`, `waiting`: no refresh has run yet. `filling`: the first one is running. `refreshing`: another one is running. `ready`: all is well. `network_down`: neither lists nor judges can be reached. `lists_failing`: no list could be read. `no_judge`: nothing can be tested. `failed`: see `refresh.error`. `stale`: the last successful refresh was too long ago.',
  ),
  last_refresh: text('End of the last successful refresh, UTC, `YYYY-MM-DD HH:MM`. Empty before the first.'),
  next_refresh: nullable(
    text(`Start of the next automatic refresh; \`null\` during a refresh. ${TIMESTAMP}`),
  ),
  judge: oneOf(['unknown', 'up', 'down'], 'While `down`, no proxy is tested and none is marked dead.'),
  judges: Type.Object(
    { http: oneOf(JUDGE_STATES), https: oneOf(JUDGE_STATES) },
    {
      description:
        'State of the judges by kind. `http` proxies need judges without TLS, all others need judges with TLS. `none`: no judge of this kind is configured.',
    },
  ),
  witnesses: oneOf(
    JUDGE_STATES,
    'While no witness responds, new `http` proxies are listed with the proof `echoed`.',
  ),
  refresh: jobSchema,
});

export const startedSchema = named('Refresh', { success: Type.Literal(true), job: jobSchema });

export const testStartedSchema = named('TestStarted', {
  success: Type.Literal(true),
  id,
  message: Type.String(),
});

export const quickTestSchema = named('ProxyTest', {
  success: Type.Literal(true),
  alive: Type.Boolean(),
  status: oneOf(STATUSES),
  response_time: nullable(Type.Number(), 'Duration of the whole check, in ms.'),
  connect_time: nullable(Type.Number(), 'Time to connect to the proxy, in ms.'),
  first_byte_time: nullable(Type.Number(), 'Time to the first byte of the response, in ms.'),
  country: Type.String(),
  anonymity: nullable(oneOf(ANONYMITIES)),
  exit_ip: nullable(Type.String()),
  tampering: nullable(Type.Array(Type.String()), 'Request headers that the proxy added, changed or removed.'),
  proof: nullable(oneOf(PROOFS)),
  error: nullable(oneOf([...CHECK_ERRORS, 'not_working'])),
});

export const reportSchema = named('ReportNoted', {
  success: Type.Literal(true),
  id,
  next_check: text(`Time of its next check. ${TIMESTAMP}`),
});
