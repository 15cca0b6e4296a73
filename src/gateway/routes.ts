import { type Static, Type } from '@sinclair/typebox';
import { AppError, inEnglish, invalidParameter, message } from '../errors.ts';
import { forwardedBy } from '../http/client/clients.ts';
import { isLocal } from '../http/context.ts';
import { type Description, successOf } from '../http/describe.ts';
import { type Call, type Caller, json, type Route, route } from '../http/route.ts';
import { unkept } from '../http/unkept.ts';
import { canonicalAddress, LOOPBACK, unbracketed } from '../lib/address.ts';
import { formatTimestamp } from '../lib/clock.ts';
import { SECONDS } from '../lib/rates.ts';
import { EXPECTS, flag, integer, named, nullable, text } from '../lib/schema.ts';
import { siteOfTarget } from '../proxy/targets/site.ts';
import type { Witness } from '../proxy/targets/testimony.ts';
import type { Entry, Journal } from './journal.ts';
import type { ExitReport, Verdict } from './reports.ts';

/** A gateway as its routes see it. */
export interface GatewayDoor {
  /** Returns true once everyone needs a token. */
  closed(): boolean;
  journal: Journal;
  report(witness: Witness, report: ExitReport): Verdict;
}

const REST = '^[1-9][0-9]{0,5}[smhd]$';
const id = integer('ID of the proxy: `X-Picpool-Proxy`.', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const session = text('Name of a session.', {
  pattern: '^[A-Za-z0-9_]{1,64}$',
  [EXPECTS]: '1 to 64 letters, digits and underscores',
});

const reportBody = Type.Object(
  {
    session: Type.Optional(session),
    exit: Type.Optional(text('The address that the site sees: `X-Picpool-Exit`.', { maxLength: 64 })),
    id: Type.Optional(id),
    target: text('The site: a domain, an address or a URL.', { minLength: 1, maxLength: 2000 }),
    ok: flag('`false` if the site refuses the exit.'),
    error: Type.Optional(text('What went wrong.', { maxLength: 2000 })),
    rest: Type.Optional(
      text('For how long the exit is left out, such as `15m`; at most a day.', {
        pattern: REST,
        [EXPECTS]: 'a time such as 15m',
      }),
    ),
  },
  { additionalProperties: true },
);

const entrySchema = named('GatewayRequest', {
  at: text('UTC, `YYYY-MM-DD HH:MM:SS`.'),
  kind: text('`plain`: a request over plain http. `tunnel`: CONNECT or SOCKS.'),
  outcome: text('`served`, `no_answer` or `client_left`.'),
  ms: integer('Time until the answer began.'),
  tries: integer('Number of proxies tried.'),
  account: text('ID of the token, or the address of a client without one.'),
  session: nullable(Type.String()),
  site: Type.String(),
  exit: nullable(text('The address that the site saw.')),
  proxy: nullable(integer('ID of the proxy.')),
});

const entryExample = {
  at: '2026-01-31 08:05:09',
  kind: 'tunnel',
  outcome: 'served',
  ms: 212,
  tries: 1,
  account: '5f3a9c1b2d4e',
  session: 'abc',
  site: 'example.com',
  exit: '203.0.113.9',
  proxy: 4711,
};

const reporting: Description = {
  id: 'reportExit',
  summary: 'Report an exit that a site refuses',
  description:
    'Name the exit by `session`, `exit` or `id`. After a failure, your requests to the site leave it out for 10 minutes, twice as long each time up to a day, while any other works; a session that you name moves. Others leave it out once several accounts have reported it. Needs a token of the role `gateway`; without such tokens, only programs on the same machine may report.',
  errors: [400, 401, 403, 404, 413],
  answers: {
    200: successOf(
      'Whether the report counted, and if not, why.',
      {
        counted: Type.Boolean(),
        reason: Type.Optional(text('Why it did not count.')),
        exit: Type.Optional(text('The exit that was meant.')),
        rest_seconds: Type.Optional(integer('For how long it is left out; 0 after a success.')),
        for_all: Type.Optional(flag('Whether it counts for all accounts.')),
        moved: Type.Optional(flag('Whether the session gets another exit.')),
      },
      { counted: true, exit: '203.0.113.9', rest_seconds: 600, for_all: false, moved: true },
    ),
  },
};

const showingLast: Description = {
  id: 'getLastExit',
  summary: 'Get the exit of your last request',
  description: 'Of the session, if you name one. Who may ask is the same as for reports.',
  errors: [400, 401, 403, 404],
  answers: {
    200: successOf(
      'The last request that was answered.',
      { request: entrySchema },
      { request: entryExample },
    ),
  },
};

const showingLatest: Description = {
  id: 'listGatewayRequests',
  summary: 'List the latest requests',
  description: 'The last 200 that the gateway of this server has carried, newest first.',
  errors: [404],
  answers: {
    200: successOf('The requests.', { requests: Type.Array(entrySchema) }, { requests: [entryExample] }),
  },
};

const lastQuery = Type.Object({ session: Type.Optional(session) });

/** `door`: `null` if the gateway is off. */
export function gatewayRoutes(door: GatewayDoor | null): Route[] {
  const opened = () => {
    if (door === null)
      throw new AppError('not_found', inEnglish('The gateway is off: GATEWAY_PORT is not set.'));
    return door;
  };
  return [
    route('POST /api/gateway/report', (call) => takeReport(opened(), call), {
      body: json(reportBody),
      limit: 'report',
      about: reporting,
    }),
    route('GET /api/gateway/last', (call) => showLast(opened(), call), {
      query: lastQuery,
      about: showingLast,
    }),
    route(
      'GET /api/gateway/requests',
      () => unkept({ success: true, requests: opened().journal.latest().map(viewOf) }),
      { admin: 'always', about: showingLatest },
    ),
  ];
}

/**
 * Returns the account of the gateway that a call comes from. Without tokens, those are the programs on this machine,
 * under a name of it: reverse proxies pass on what others say, and a page may point its own name here (DNS rebinding).
 */
function witnessOf({ context, request }: Caller, door: GatewayDoor): Witness {
  if (door.closed()) {
    if (context.admin) return { id: 'admin', speaksForAll: true };
    if (context.holder?.role === 'gateway') return { id: context.holder.id, speaksForAll: false };
    const header = 'Authorization: Bearer <token>, with a token of the role gateway';
    throw new AppError('unauthorized', message('This needs the header {header}.', { header }));
  }
  const { peer, reachedAt } = context;
  if (!LOOPBACK.has(peer) || forwardedBy(request.headers) !== null || !isLocal(reachedAt)) {
    throw new AppError(
      'forbidden',
      inEnglish('Without tokens of the role gateway, only programs on the same machine may use this.'),
    );
  }
  // The gateway listens on IPv4.
  return { id: peer === '::1' ? '127.0.0.1' : peer, speaksForAll: true };
}

/** Shuts an exit out of a site, or lets it in. */
function takeReport(door: GatewayDoor, call: Call<{ body: typeof reportBody }>): Response {
  const witness = witnessOf(call, door);
  const { target, exit, rest, session, id, ok, error } = call.body;
  const site = siteOfTarget(target);
  if (site === null)
    throw invalidParameter('target', inEnglish('target must be a domain such as example.com.'));
  if (session === undefined && exit === undefined && id === undefined)
    throw invalidParameter('exit', inEnglish('Name the exit by session, exit or id.'));
  const address = exit && (canonicalAddress(unbracketed(exit)) ?? exit);
  const restMs = rest && Number(rest.slice(0, -1)) * SECONDS[rest.at(-1) as keyof typeof SECONDS] * 1000;
  const report = { session, exit: address, id, site, ok, error, restMs: restMs || undefined };
  return unkept({ success: true, ...door.report(witness, report) });
}

/** Shows which exit served the caller last. */
function showLast(door: GatewayDoor, call: Call<{ query: typeof lastQuery }>): Response {
  const { id } = witnessOf(call, door);
  const entry = door.journal.last(id, call.query.session ?? null);
  if (entry === undefined)
    throw new AppError('not_found', inEnglish('No request of yours has been answered yet.'));
  return unkept({ success: true, request: viewOf(entry) });
}

function viewOf(entry: Entry): Static<typeof entrySchema> {
  return { ...entry, at: formatTimestamp(entry.at) };
}
