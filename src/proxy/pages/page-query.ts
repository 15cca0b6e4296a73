import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { misspelt } from '../../lib/nearest.ts';
import { tidied } from '../../lib/schema.ts';
import { countryNamed, countrySpelledLike, isCountryCode } from '../pool/country-code.ts';
import { PROTOCOLS, type ProxyRecord, SORTS, type Sort, UNKNOWN_COUNTRY } from '../proxy.ts';
import { type ListQuery, listQuery } from '../queries.ts';
import { CHART_RANGES, type ChartRange } from './pool-chart.ts';

/** A parameter of the page that was ignored, and why. */
export interface Problem {
  field: string;
  value: string;
  /** `unknown`: no such parameter exists; otherwise the kind of value that is expected. */
  kind: 'unknown' | 'choice' | 'country' | 'percent' | 'number' | 'text';
  /** A suggestion: a parameter, or the code of a country. */
  meant?: string;
  choices?: readonly string[];
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
  /** Codes of the countries in the pool. */
  countries: readonly string[];
  /** Names of the lists. */
  sources: readonly string[];
  /** True if the whole pool is empty. */
  poolEmpty: boolean;
  now: number;
}

export const PER_PAGE = 50;
const MOST_IDS = 100;
const MOST_PAGES = 1_000_000;
const MINUTE_S = 60;

const {
  limit: _l,
  offset: _o,
  random: _r,
  target: _t,
  format: _f,
  remote_dns: _d,
  sort: _s,
  ...schemas
} = listQuery.properties;
type FilterName = keyof typeof schemas;

/** Filters whose units differ on the page, with their names in the API. */
const OWN = {
  uptime: { name: 'min_uptime', of: (value: number) => value / 100, kind: 'percent', most: 100 },
  within: { name: 'max_age', of: (value: number) => Math.round(value * MINUTE_S), kind: 'number', most: 1e7 },
} as const;
const OTHERS = ['sort', 'page', 'id', 'range'];
const KNOWN = [...Object.keys(schemas), ...Object.keys(OWN), ...OTHERS];

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
    else if (taken.name !== null) {
      filter[taken.name] = taken.value;
      values[field] = taken.shown ?? value;
      entered[field] = values[field] ?? '';
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

  function take(field: string, value: string): Taken {
    const taken = OTHERS.includes(field) ? takeOther(field, value) : takeFilter(field, value);
    if ('problem' in taken && OTHERS.includes(field)) given.delete(field);
    return taken;
  }
}

type Taken =
  | { name: string | null; value: unknown; shown?: string }
  | { problem: Omit<Problem, 'field' | 'value'> };

/**
 * Returns the parameters by name: repeated ones become a list, empty ones are dropped, and those of the API
 * are converted to the page's units.
 */
function inPageUnits(params: URLSearchParams): Map<string, string> {
  const given = new Map<string, string>();
  for (const name of new Set(params.keys())) {
    const value = params
      .getAll(name)
      .map((one) => one.trim())
      .filter((one) => one !== '')
      .join(',')
      .slice(0, 500);
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

function takeFilter(field: string, value: string): Taken {
  if (field in OWN) {
    const { name, of, kind, most } = OWN[field as keyof typeof OWN];
    const number = numberOf(value);
    return number >= 0 && number <= most ? { name, value: of(number) } : { problem: { kind } };
  }
  if (!(field in schemas)) {
    const meant = misspelt(field, KNOWN);
    return { problem: { kind: 'unknown', ...(meant !== undefined && { meant }) } };
  }
  if (field === 'country' || field === 'exclude_country') return takeCountries(field, value);
  const schema: TSchema = schemas[field as FilterName];
  if (schema.type === 'integer' || schema.type === 'number') {
    const number = numberOf(value);
    return Value.Check(schema, number) ? { name: field, value: number } : { problem: { kind: 'number' } };
  }
  const text = field === 'source' ? value : tidied(value);
  if (Value.Check(schema, text)) return { name: field, value: text, shown: text };
  const choices: unknown = field === 'protocol' ? PROTOCOLS : schema.enum;
  return Array.isArray(choices) ? { problem: { kind: 'choice', choices } } : { problem: { kind: 'text' } };
}

/** Parses codes and names, separated by commas. */
function takeCountries(field: string, value: string): Taken {
  const codes: string[] = [];
  for (const word of value.split(',').filter((one) => one.trim() !== '')) {
    const upper = word.trim().toUpperCase();
    const code = isCountryCode(upper) || upper === UNKNOWN_COUNTRY ? upper : countryNamed(word);
    if (code === undefined) {
      const meant = countrySpelledLike(word);
      return { problem: { kind: 'country', ...(meant !== undefined && { meant }) } };
    }
    codes.push(code);
  }
  const shown = [...new Set(codes)].join(',');
  return { name: field, value: shown, shown };
}

/** Parameters that only change how the list is shown are checked, but not returned. */
function takeOther(field: string, value: string): Taken {
  const fine: Taken = { name: null, value: null };
  if (field === 'sort')
    return SORTS.includes(value.replace(/^-/, '') as Sort)
      ? fine
      : { problem: { kind: 'choice', choices: SORTS } };
  if (field === 'range')
    return CHART_RANGES.includes(value as ChartRange)
      ? fine
      : { problem: { kind: 'choice', choices: CHART_RANGES } };
  const numbers = field === 'page' ? [numberOf(value)] : value.split(',').map(numberOf);
  const most = field === 'page' ? MOST_PAGES : Number.MAX_SAFE_INTEGER;
  const isFine =
    numbers.length <= MOST_IDS && numbers.every((n) => Number.isInteger(n) && n >= 1 && n <= most);
  return isFine ? fine : { problem: { kind: 'number' } };
}

const numberOf = (text: string) => (/^\d{1,16}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN);

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
