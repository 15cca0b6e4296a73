import { PROTOCOLS, type ProxyFilter, type Sort, STATUSES, UPTIME } from '../../src/proxy/proxy.ts';
import type { ProxyQuery } from '../../src/proxy/store.ts';
import type { SqliteValue } from '../../src/runtime/runtime.ts';

/** SQL and the values of its parameters, in order. */
export interface Sql {
  text: string;
  values: SqliteValue[];
}

/** The position from which a walk in the order of `dependable` continues: the key of the last row. */
export interface Cursor {
  id: number;
  badness: number;
  slowness: number;
}

type Conditions = {
  [K in keyof ProxyFilter]-?: (value: NonNullable<ProxyFilter[K]>) => [string, SqliteValue];
};

const CONDITIONS: Conditions = {
  protocols: (value) => among('protocol', value),
  countries: (value) => among('country', value),
  excludeCountries: (value) => ['country NOT IN (SELECT value FROM json_each(?))', JSON.stringify(value)],
  ports: (value) => among('port', value),
  tampers: (value) => ["(tampering <> '') = ?", value ? 1 : 0],
  status: (value) => ['status = ?', value],
  anonymity: (value) => ['anonymity = ?', value],
  proofs: (value) => among('proof', value),
  // The inner list is short and is built once for each query, so the walked index does not need the login.
  login: (value) => ['(id IN (SELECT id FROM proxies WHERE login IS NOT NULL)) = ?', value ? 1 : 0],
  source: (value) => ['source = ?', value],
  maxResponseMs: (value) => ['slowness <= ?', value],
  checkedSince: (value) => ['last_checked >= ?', value],
  checkedUntil: (value) => ['last_checked <= ?', value],
  minUptime: (value) => [
    `uptime_weight >= ${UPTIME.enoughWeight}
      AND (uptime * (uptime_weight + ${UPTIME.priorWeight}) - ${UPTIME.priorWeight * UPTIME.priorShare}) / uptime_weight >= ?`,
    value,
  ],
  minScore: (value) => ['badness <= ?', -value],
};

function among(column: string, values: readonly (string | number)[]): [string, SqliteValue] {
  const [only] = values;
  if (only !== undefined && values.length === 1) return [`${column} = ?`, only];
  return [`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values)];
}

/** The columns of `proxy_counts`. Matches of a filter of other fields have to be counted row by row. */
const COUNTED: readonly string[] = ['protocols', 'countries', 'excludeCountries', 'status'];

/** Columns that no index has. */
const UNINDEXED = /tampering|proof|uptime|last_checked|first_seen/;

const ORDER: Record<Sort, string> = {
  dependable: 'badness, slowness, tie',
  response_time: 'slowness, id',
  last_checked: 'last_checked DESC, id',
  first_seen: 'first_seen DESC, id',
};

/** Returns the filter as a condition over `proxies` (or `proxy_counts`); `TRUE` for an empty one. */
export function where(filter: ProxyFilter): Sql {
  const pairs = (Object.keys(CONDITIONS) as (keyof ProxyFilter)[]).flatMap((field) => {
    const value = filter[field];
    const condition = CONDITIONS[field] as (value: ProxyFilter[typeof field]) => [string, SqliteValue];
    return value === undefined ? [] : [condition(value)];
  });
  return {
    text: pairs.map(([text]) => text).join(' AND ') || 'TRUE',
    values: pairs.map(([, value]) => value),
  };
}

/** Reports whether the rows themselves have to be read. */
export function needsRows(filter: ProxyFilter, sort: Sort): boolean {
  return UNINDEXED.test(`${where(filter).text} ${ORDER[sort]}`);
}

/** How to find rows: by an index, or by reading all in their order, which takes a ninth of the time for each. */
export type Access = 'index' | 'rows';

/** Returns one row with `total`, the number of matches. */
export function countQuery(filter: ProxyFilter, access: Access): Sql {
  const { text, values } = where(filter);
  const fields = Object.entries(filter).filter(([, value]) => value !== undefined);
  const source = fields.every(([field]) => COUNTED.includes(field))
    ? 'SELECT ifnull(sum(count), 0) AS total FROM proxy_counts'
    : `SELECT count(*) AS total FROM ${from(filter, access)}`;
  return { text: `${source} WHERE ${text}`, values };
}

/** Returns the IDs of a page. All but an index in the order of `dependable` visit every match. */
export function pageQuery({ filter, sort, limit, offset }: ProxyQuery, access: Access): Sql {
  if (sort === 'dependable' && access === 'index') {
    const { text, values } = walkQuery(filter, limit, null);
    return { text: `${text} OFFSET ?`, values: [...values, offset] };
  }
  const { text, values } = idsQuery(filter, access, sort);
  return { text: `${text} LIMIT ? OFFSET ?`, values: [...values, limit, offset] };
}

/** Returns the IDs of all matches. Without a limit, SQLite merges runs, which takes 5 to 45% less time. */
export function idsQuery(filter: ProxyFilter, access: Access, sort?: Sort): Sql {
  const { text, values } = where(filter);
  const order = sort ? ` ORDER BY ${ORDER[sort]}` : '';
  return { text: `SELECT id FROM ${from(filter, access)} WHERE ${text}${order}`, values };
}

function from(filter: ProxyFilter, access: Access): string {
  return `proxies ${access === 'rows' ? 'NOT INDEXED' : `INDEXED BY ${indexFor(filter)}`}`;
}

/**
 * Returns the keys of the first `limit` matches after the cursor in the order of `dependable`, or from its end
 * backwards. The indexes are sorted within one status and protocol; SQLite merges one walk for each of them.
 * `columns`: additional columns.
 */
export function walkQuery(
  filter: ProxyFilter,
  limit: number,
  after: Cursor | null,
  { direction = 'ASC', columns = '' }: { direction?: 'ASC' | 'DESC'; columns?: string } = {},
): Sql {
  const { status, protocols = PROTOCOLS, ...rest } = filter;
  const residual = where(rest);
  const from = after ? ' AND (badness, slowness, tie) > (?, ?, ?)' : '';
  const cursor = after ? [after.badness, after.slowness, after.id] : [];
  const walk = `SELECT id, badness, slowness, tie${columns} FROM proxies INDEXED BY ${indexFor(filter)}
    WHERE status = ? AND protocol = ? AND ${residual.text}${from}`;
  const statuses = status ? [status] : STATUSES;
  const branches = statuses.flatMap((each) =>
    protocols.map((other) => [each, other, ...residual.values, ...cursor]),
  );
  return {
    text: `${branches.map(() => walk).join(' UNION ALL ')}
      ORDER BY badness ${direction}, slowness ${direction}, tie ${direction} LIMIT ?`,
    values: [...branches.flat(), limit],
  };
}

function indexFor(filter: ProxyFilter): string {
  return filter.countries?.length === 1 ? 'proxies_country' : 'proxies_order';
}
