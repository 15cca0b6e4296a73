import { type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Said } from '../../errors.ts';
import { ruleOf } from '../../http/errors.ts';
import { misspelt } from '../../lib/nearest.ts';
import { coerceText, oneOf, several } from '../../lib/schema.ts';
import { countryNamed, countrySpelledLike, isFilterCode } from '../pool/country-code.ts';
import { type ProxyRecord, SORTS, type Sort } from '../proxy.ts';
import { type ListQuery, listQuery } from '../queries.ts';
import { CHART_RANGES, type ChartRange } from './pool-chart.ts';

/** A parameter of the page that was ignored, and why. */
export interface Problem {
  field: string;
  value: string;
  /** What the value must be; otherwise there is no such parameter, or no such country. */
  rule?: Said;
  /** A suggestion: a parameter, or the code of a country. */
  meant?: string | undefined;
}

/** The parsed query of the page. */
export interface PageQuery {
  filter: Partial<ListQuery>;
  sort: Sort;
  reverse: boolean;
  /** Starts at 1. */
  page: number;
  /** Show only these, regardless of the filters. */
  ids: number[] | null;
  range: ChartRange;
  /** The accepted filters, as in the URL of the page. */
  values: Readonly<Record<string, string>>;
  /** The text that the form fields show, valid or not. */
  entered: Readonly<Record<string, string>>;
  problems: Problem[];
}

/** The requested part of the list, and what the controls around it offer. */
export interface Listing {
  /** Paths of the page itself and of the API. */
  path: string;
  basePath: string;
  query: PageQuery;
  linkTo: LinkTo;
  rows: readonly ProxyRecord[];
  total: number;
  countries: readonly string[];
  /** Names of the lists. */
  sources: readonly string[];
  poolEmpty: boolean;
  now: number;
}

export const PER_PAGE = 50;
const MINUTE_S = 60;
/** A hundred IDs, as many as can be named, of 15 digits. */
const MAX_LENGTH = 1600;
/** Twice as many as there are. Each one that there is not takes space on the page. */
const MOST_NAMES = 50;

const {
  limit: _l,
  offset: _o,
  random: _r,
  target: _t,
  format: _f,
  remote_dns: _d,
  sort: _s,
  ...filters
} = listQuery.properties;

/** Filters whose units differ on the page, with their names in the API. */
const OWN: Record<string, [name: string, of: (value: number) => number]> = {
  uptime: ['min_uptime', (value) => value / 100],
  within: ['max_age', (value) => Math.round(value * MINUTE_S)],
};
/** Parameters that only change how the list is shown. */
const others = {
  sort: oneOf(SORTS.flatMap((sort) => [sort, `-${sort}`])),
  page: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  id: several('[1-9][0-9]{0,14}', 'IDs of proxies'),
  range: oneOf(CHART_RANGES),
};
const schemas: Record<string, TSchema> = {
  ...filters,
  max_latency_ms: Type.Integer({ minimum: 1, maximum: 1e9 }),
  uptime: Type.Number({ minimum: 0, maximum: 100 }),
  within: Type.Number({ minimum: 0, maximum: 1e7 }),
  ...others,
};

/**
 * Parses the query of the page. Invalid fields are ignored and reported, so that one of them does not break the page.
 */
export function readPageQuery(params: URLSearchParams): PageQuery {
  const problems: Problem[] = [];
  const filter: Record<string, unknown> = {};
  const values: Record<string, string> = {};
  const entered: Record<string, string> = {};
  const given = inPageUnits(params);

  for (const [field, value] of given) {
    entered[field] = value;
    const taken = take(field, value);
    if ('problem' in taken) problems.push({ field, value, ...taken.problem });
    if (field in others) {
      if ('problem' in taken) given.delete(field);
      else given.set(field, taken.shown);
    } else if ('shown' in taken) {
      filter[taken.name] = taken.value;
      values[field] = taken.shown;
      entered[field] = taken.shown;
    }
  }
  const sort = given.get('sort') ?? 'dependable';
  const page = Number(given.get('page') ?? 1);
  const ids = given.get('id');
  return {
    filter,
    sort: sort.replace(/^-/, '') as Sort,
    reverse: sort.startsWith('-'),
    page,
    ids: ids === undefined ? null : [...new Set(ids.split(',').map(Number))],
    range: (given.get('range') ?? '1d') as ChartRange,
    values,
    entered,
    problems,
  };
}

type Taken = { name: string; value: unknown; shown: string } | { problem: Pick<Problem, 'rule' | 'meant'> };

/**
 * Returns the parameters by name: repeated ones become a list, empty ones are dropped, and those of the API
 * are converted to the page's units.
 */
function inPageUnits(params: URLSearchParams): Map<string, string> {
  const given = new Map<string, string>();
  for (const name of [...new Set(params.keys())].slice(0, MOST_NAMES)) {
    const value = params
      .getAll(name)
      .map((one) => one.trim())
      .filter((one) => one !== '')
      .join(',')
      .slice(0, MAX_LENGTH);
    if (value !== '') given.set(name, value);
  }
  const move = (from: string, to: string, factor: number) => {
    const value = given.get(from);
    if (value === undefined) return;
    given.delete(from);
    const number = Number(value) * factor;
    if (!given.has(to))
      given.set(to, Number.isFinite(number) ? String(Math.round(number * 1e4) / 1e4) : value);
  };
  move('min_uptime', 'uptime', 100);
  move('max_age', 'within', 1 / MINUTE_S);
  return given;
}

function take(field: string, text: string): Taken {
  const schema = Object.hasOwn(schemas, field) ? schemas[field] : undefined;
  if (schema === undefined) return { problem: { meant: misspelt(field, Object.keys(schemas)) } };
  if (field === 'country' || field === 'exclude_country') return takeCountries(field, text);
  const value = coerceText(schema, text);
  if (!Value.Check(schema, value)) return { problem: { rule: ruleOf(schema) } };
  const [name = field, of = (number: number) => number] = OWN[field] ?? [];
  return { name, value: typeof value === 'number' ? of(value) : value, shown: String(value) };
}

/** Parses codes and names, separated by commas. */
function takeCountries(field: string, value: string): Taken {
  const codes: string[] = [];
  for (const word of value.split(',').filter((one) => one.trim() !== '')) {
    const upper = word.trim().toUpperCase();
    const code = isFilterCode(upper) ? upper : countryNamed(word);
    if (code === undefined) return { problem: { meant: countrySpelledLike(word) } };
    codes.push(code);
  }
  if (codes.length === 0) return { problem: {} };
  const shown = [...new Set(codes)].join(',');
  return { name: field, value: shown, shown };
}

/** Returns the order of the list, as in the URL of the page. */
export const orderOf = ({ sort, reverse }: PageQuery) => `${reverse ? '-' : ''}${sort}`;

/** Returns the parameters of the page that are not their defaults, without its number. */
export function parametersOf(query: PageQuery): Readonly<Record<string, string>> {
  const order = orderOf(query);
  return {
    ...query.values,
    ...(order !== 'dependable' && { sort: order }),
    ...(query.range !== '1d' && { range: query.range }),
  };
}

/** Returns a link to the current page of proxies with some parameters changed. */
export type LinkTo = (changes: Readonly<Record<string, string | null>>, anchor?: string) => string;

/** `values`: the current parameters. A parameter that becomes `null` or empty is removed. */
export function createLinks(path: string, values: Readonly<Record<string, string>>): LinkTo {
  return (changes, anchor = '') => {
    const left = Object.entries({ ...values, ...changes }).filter(
      (entry): entry is [string, string] => entry[1] !== null && entry[1] !== '',
    );
    // Commas need no escaping, and are easier to read.
    const query = new URLSearchParams(left).toString().replaceAll('%2C', ',');
    return `${path}${query && `?${query}`}${anchor && `#${anchor}`}`;
  };
}
