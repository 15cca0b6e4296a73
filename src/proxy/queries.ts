import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { HINT, oneOf, several } from '../lib/schema.ts';
import { countryNamed, countrySpelledLike } from './country-code.ts';
import {
  ANONYMITIES,
  PROOFS,
  PROTOCOLS,
  type Proof,
  type Protocol,
  type ProxyFilter,
  SORTS,
  STATUSES,
} from './proxy.ts';

const MAX_ID = Number.MAX_SAFE_INTEGER;

/** What is not known is ignored, not refused. */
const OPEN = { additionalProperties: true };

const countries = (description: string) =>
  several('[a-z]{2}', 'country codes of two letters, separated by commas', {
    description,
    [HINT]: countryHint,
  });

/** For who writes the name of a country in place of its code. */
function countryHint(text: string): string | null {
  const name = text.split(',').find((one) => one.length !== 2);
  const code = name === undefined ? undefined : (countryNamed(name) ?? countrySpelledLike(name));
  return code === undefined ? null : `takes codes of two letters: ${code} instead of “${name}”.`;
}

const share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });

const filters = {
  protocol: Type.Optional(
    several(PROTOCOLS.join('|'), `one or several of ${PROTOCOLS.join(', ')}, separated by commas`, {
      description: `Only these protocols: ${PROTOCOLS.map((one) => `\`${one}\``).join(', ')}, separated by commas.`,
    }),
  ),
  country: Type.Optional(
    countries('Only these countries: codes of two letters, separated by commas; `ZZ` is "not known".'),
  ),
  exclude_country: Type.Optional(countries('All countries except these.')),
  port: Type.Optional(
    several('[1-9][0-9]{0,4}', 'port numbers, separated by commas', {
      description: 'Only these ports, separated by commas.',
    }),
  ),
  anonymity: Type.Optional(oneOf(ANONYMITIES, { description: 'Only this anonymity.' })),
  tampering: Type.Optional(
    oneOf(['none', 'some'], {
      description: '`none`: only those that left the headers of the last passed check as they were.',
    }),
  ),
  proof: Type.Optional(oneOf(PROOFS, { description: 'Only what is proven in this way.' })),
  min_proof: Type.Optional(
    oneOf(PROOFS, {
      description: 'Only what is proven in this way or a stronger one; `tls` is the strongest.',
    }),
  ),
  login: Type.Optional(
    oneOf(['none', 'needed'], {
      description:
        '`none`: only those that ask for no login, as in all lines that are not for the administrator.',
    }),
  ),
  source: Type.Optional(
    Type.String({ maxLength: 200, description: 'Only what this list named first; letter case counts.' }),
  ),
  max_latency_ms: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_ID, description: 'Longest `response_time` in ms.' }),
  ),
  max_age: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1e9, description: 'Checked within this many seconds.' }),
  ),
  min_uptime: Type.Optional(
    share('Least `uptime`, from 0 to 1; leaves out those of which too little is known.'),
  ),
  min_score: Type.Optional(share('Least `score`, from 0 to 1.')),
  unique: Type.Optional(
    oneOf(['exit_ip'], {
      description: '`exit_ip`: of those that targets see under one address, only the most dependable.',
    }),
  ),
};

const target = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 2000,
    description:
      'A domain, a URL or a name of `GET /api/targets`: those first that most likely reach it, by the mean of what is known of each; `sort` and `random` do not count then.',
  }),
);

const order = {
  offset: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1e9, default: 0, description: 'Entries to skip at the start.' }),
  ),
  sort: Type.Optional(
    oneOf(SORTS, {
      default: 'dependable',
      description: '`dependable`: highest score, then shortest response time. Else best or newest first.',
    }),
  ),
  random: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Draws the entries at random; `sort` and `offset` do not count then.',
    }),
  ),
};

const remoteDns = Type.Optional(
  Type.Boolean({
    default: false,
    description: 'In lines of `format=url`, `socks5h://` and `socks4a://`: the proxy looks names up.',
  }),
);
const LINES =
  '`text`: `ip:port` lines; `standard`: `protocol://ip:port` lines; `url`: lines that clients take, which are `http://` for `https` proxies, too.';

export const listQuery = Type.Object(
  {
    ...filters,
    status: Type.Optional(oneOf(STATUSES, { default: 'alive', description: 'Only this status.' })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        default: 50,
        description: 'Most entries that are returned; above 500 is served as 500.',
      }),
    ),
    ...order,
    target,
    format: Type.Optional(
      oneOf(['json', 'text', 'standard', 'url'], { default: 'json', description: LINES }),
    ),
    remote_dns: remoteDns,
  },
  OPEN,
);
export type ListQuery = Static<typeof listQuery>;

export const eventsQuery = Type.Object(
  {
    pool: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Also tells the statistics of the pool when they change, as events `pool`.',
      }),
    ),
  },
  OPEN,
);

export const EXPORT_FORMATS = ['standard', 'text', 'url', 'csv', 'json'] as const;
export const exportQuery = Type.Object(
  {
    ...filters,
    ...order,
    target,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1e9, description: 'Most entries; all by default.' }),
    ),
    format: Type.Optional(
      oneOf(EXPORT_FORMATS, {
        default: 'standard',
        description: `${LINES} \`csv\` and \`json\`: whole records.`,
      }),
    ),
    remote_dns: remoteDns,
  },
  OPEN,
);

export type FilterQuery = Pick<Static<typeof exportQuery>, keyof typeof filters>;

/** The kinds of proof that are asked for: one, or one and the stronger ones. */
function proofsOf({ proof, min_proof }: Pick<FilterQuery, 'proof' | 'min_proof'>): readonly Proof[] {
  const strong = PROOFS.slice(0, min_proof === undefined ? PROOFS.length : PROOFS.indexOf(min_proof) + 1);
  return proof === undefined ? strong : strong.filter((one) => one === proof);
}

const valuesOf = (text: string | undefined) =>
  text === undefined ? undefined : [...new Set(text.split(','))];

/** The filter that the query means; ages are counted back from `now`. */
export function toFilter(query: FilterQuery & Pick<ListQuery, 'status'>, now: number): ProxyFilter {
  const { status, anonymity, source, tampering, login } = query;
  const filter: ProxyFilter = { status: status ?? 'alive' };
  const protocols = valuesOf(query.protocol) as Protocol[] | undefined;
  const among = valuesOf(query.country?.toUpperCase());
  const excluded = valuesOf(query.exclude_country?.toUpperCase());
  // One value has an index of its own.
  if (protocols?.length === 1) filter.protocol = protocols[0] ?? 'http';
  else if (protocols) filter.protocols = protocols;
  if (among?.length === 1) filter.country = among[0] ?? '';
  else if (among) filter.countries = among;
  if (excluded?.length === 1) filter.excludeCountry = excluded[0] ?? '';
  else if (excluded) filter.excludeCountries = excluded;
  if (query.port !== undefined) filter.ports = query.port.split(',').map(Number);
  if (anonymity !== undefined) filter.anonymity = anonymity;
  if (tampering !== undefined) filter.tampers = tampering === 'some';
  if (query.proof !== undefined || query.min_proof !== undefined) filter.proofs = proofsOf(query);
  if (login !== undefined) filter.login = login === 'needed';
  if (source !== undefined) filter.source = source;
  if (query.max_latency_ms !== undefined) filter.maxResponseMs = query.max_latency_ms;
  if (query.max_age !== undefined) filter.checkedSince = now - query.max_age * 1000;
  if (query.min_uptime !== undefined) filter.minUptime = query.min_uptime;
  if (query.min_score !== undefined) filter.minScore = query.min_score;
  return filter;
}

/** The echo of a list query: filters as they took effect. What was not given is left out, but for the four of the interface. */
export function queryView({ format: _, ...query }: ListQuery, filter: ProxyFilter, limit: number) {
  const defaults: Record<string, TSchema> = listQuery.properties;
  const given = Object.entries(query).filter(
    ([name, value]) => name in defaults && value !== defaults[name]?.default,
  );
  return {
    ...Object.fromEntries(given),
    ...(query.exclude_country !== undefined && { exclude_country: query.exclude_country.toUpperCase() }),
    protocol: query.protocol ?? null,
    country: query.country?.toUpperCase() ?? null,
    status: filter.status ?? 'alive',
    limit,
  };
}
