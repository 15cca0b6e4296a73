import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { flag, HINT, integer, oneOf, several, text } from '../lib/schema.ts';
import { SKEW_MS } from '../lib/stored-time.ts';
import { countryNamed, countrySpelledLike, isFilterCode } from './pool/country-code.ts';
import {
  ANONYMITIES,
  countryMeant,
  PROOFS,
  PROTOCOLS,
  type Proof,
  type Protocol,
  type ProxyFilter,
  SORTS,
  STATUSES,
} from './proxy.ts';

/** An unknown filter is rejected: without it, the answer would be one to another question. */
const CLOSED = { additionalProperties: false };

const countries = (description: string) =>
  several('[a-z]{2}', 'two-letter country codes, separated by commas', {
    description,
    [HINT]: countryHint,
  });

/** Suggests the code if a country was given by name, and refuses one that no proxy can have. */
function countryHint(text: string): string | null {
  const name = text.split(',').find((one) => !isFilterCode(countryMeant(one)));
  if (name?.length === 2) return `must name countries, and ${name.toUpperCase()} is the code of none.`;
  const code = name === undefined ? undefined : (countryNamed(name) ?? countrySpelledLike(name));
  return code === undefined ? null : `takes two-letter codes: ${code} instead of “${name}”.`;
}

const share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });

const filters = {
  protocol: Type.Optional(
    several(PROTOCOLS.join('|'), `one or more of ${PROTOCOLS.join(', ')}, separated by commas`, {
      description: `Only these protocols, separated by commas: ${PROTOCOLS.map((one) => `\`${one}\``).join(', ')}.`,
    }),
  ),
  country: Type.Optional(
    countries('Only these countries: two-letter codes, separated by commas. `ZZ` means unknown.'),
  ),
  exclude_country: Type.Optional(countries('All countries except these.')),
  port: Type.Optional(
    several(
      '[1-9][0-9]{0,3}|[1-5][0-9]{4}|6([0-4][0-9]{3}|5([0-4][0-9]{2}|5([0-2][0-9]|3[0-5])))',
      'port numbers, separated by commas',
      { description: 'Only these ports, separated by commas.' },
    ),
  ),
  anonymity: Type.Optional(oneOf(ANONYMITIES, 'Only proxies with this anonymity.')),
  tampering: Type.Optional(
    oneOf(
      ['none', 'some'],
      '`none`: only proxies that left the request headers unchanged in their last passed check.',
    ),
  ),
  proof: Type.Optional(oneOf(PROOFS, 'Only proxies with this proof.')),
  min_proof: Type.Optional(
    oneOf(PROOFS, 'Only proxies with this proof or a stronger one. `tls` is the strongest.'),
  ),
  login: Type.Optional(
    oneOf(['none', 'needed'], '`none`: only proxies without a login. `needed`: only proxies with one.'),
  ),
  source: Type.Optional(
    text('Only proxies that first appeared in this list. Case-sensitive.', { maxLength: 200 }),
  ),
  max_latency_ms: Type.Optional(
    integer('Maximum `response_time`, in ms.', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  ),
  max_age: Type.Optional(
    integer('Only proxies checked within this many seconds.', { minimum: 0, maximum: 1e9 }),
  ),
  min_uptime: Type.Optional(share('Minimum `uptime`, 0 to 1. Leaves out proxies without a value.')),
  min_score: Type.Optional(share('Minimum `score`, 0 to 1.')),
  unique: Type.Optional(
    oneOf(
      ['exit_ip'],
      '`exit_ip`: of the proxies that share a proven exit address, only the most dependable.',
    ),
  ),
};

const target = Type.Optional(
  text(
    'A domain, a URL or a name from `GET /api/targets`. Proxies most likely to reach it come first, by the mean of past results; `sort` and `random` are ignored.',
    { minLength: 1, maxLength: 2000 },
  ),
);

const order = {
  offset: Type.Optional(integer('Number of proxies to skip.', { minimum: 0, maximum: 1e9, default: 0 })),
  sort: Type.Optional(
    oneOf(
      SORTS,
      '`dependable`: highest score, then shortest response time. The others put the best or newest first.',
      { default: 'dependable' },
    ),
  ),
  random: Type.Optional(flag('Pick proxies at random; `sort` and `offset` are ignored.', { default: false })),
};

const remoteDns = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      'With `format=url`: write `socks5h://` and `socks4a://`, so that the proxy resolves host names.',
  }),
);
const LINES =
  '`text`: lines of `ip:port`. `standard`: lines of `protocol://ip:port`. `url`: lines that clients accept, with `http://` for `https` proxies.';

export const listQuery = Type.Object(
  {
    ...filters,
    status: Type.Optional(oneOf(STATUSES, 'Only proxies with this status.', { default: 'alive' })),
    limit: Type.Optional(
      integer('Maximum number of proxies to return. Values above 500 count as 500.', {
        minimum: 1,
        default: 50,
      }),
    ),
    ...order,
    target,
    format: Type.Optional(oneOf(['json', 'text', 'standard', 'url'], LINES, { default: 'json' })),
    remote_dns: remoteDns,
  },
  CLOSED,
);
export type ListQuery = Static<typeof listQuery>;

export const eventsQuery = Type.Object({
  pool: Type.Optional(
    flag('Also send `pool` events when the statistics of the pool change.', { default: false }),
  ),
});

export const EXPORT_FORMATS = ['standard', 'text', 'url', 'csv', 'json'] as const;
export const exportQuery = Type.Object(
  {
    ...filters,
    ...order,
    target,
    limit: Type.Optional(integer('Maximum number of proxies. All by default.', { minimum: 1, maximum: 1e9 })),
    format: Type.Optional(
      oneOf(EXPORT_FORMATS, `${LINES} \`csv\`, \`json\`: full records.`, { default: 'standard' }),
    ),
    remote_dns: remoteDns,
  },
  CLOSED,
);

type FilterQuery = Pick<Static<typeof exportQuery>, keyof typeof filters>;

/** Returns the kinds of proof asked for: one, or one and all stronger ones. */
function proofsOf({ proof, min_proof }: Pick<FilterQuery, 'proof' | 'min_proof'>): readonly Proof[] {
  const strong = PROOFS.slice(0, min_proof === undefined ? PROOFS.length : PROOFS.indexOf(min_proof) + 1);
  return proof === undefined ? strong : strong.filter((one) => one === proof);
}

const valuesOf = (text: string | undefined) =>
  text === undefined ? undefined : [...new Set(text.split(','))];

/** Converts a query to a filter. Ages are counted back from `now`. */
export function toFilter(query: FilterQuery & Pick<ListQuery, 'status'>, now: number): ProxyFilter {
  const { status = 'alive', anonymity, source, tampering, login, max_age: maxAge } = query;
  const isProofAsked = query.proof !== undefined || query.min_proof !== undefined;
  return {
    status,
    protocols: valuesOf(query.protocol) as Protocol[] | undefined,
    countries: valuesOf(query.country)?.map(countryMeant),
    excludeCountries: valuesOf(query.exclude_country)?.map(countryMeant),
    ports: valuesOf(query.port)?.map(Number),
    anonymity,
    tampers: tampering && tampering === 'some',
    proofs: isProofAsked ? proofsOf(query) : undefined,
    login: login && login === 'needed',
    source,
    maxResponseMs: query.max_latency_ms,
    // What was checked in the future was so by a clock that was ahead.
    ...(maxAge !== undefined && { checkedSince: now - maxAge * 1000, checkedUntil: now + SKEW_MS }),
    minUptime: query.min_uptime,
    minScore: query.min_score,
  };
}

/**
 * Returns the echo of a list query: filters as they took effect. Missing ones are left out, except the four
 * of the interface.
 */
export function queryView({ format: _, ...query }: ListQuery, filter: ProxyFilter, limit: number) {
  const defaults: Record<string, TSchema> = listQuery.properties;
  const given = Object.entries(query).filter(
    ([name, value]) => name in defaults && value !== defaults[name]?.default,
  );
  return {
    ...Object.fromEntries(given),
    ...(query.exclude_country !== undefined && { exclude_country: filter.excludeCountries?.join() }),
    protocol: query.protocol ?? null,
    country: filter.countries?.join() ?? null,
    status: filter.status ?? 'alive',
    limit,
  };
}
