import type { ProxyFilter, ProxyRecord, Sort } from '../../src/proxy/proxy.ts';
import type { ProxyQuery } from '../../src/proxy/store.ts';
import type { Database } from './database.ts';
import { RECORD } from './proxy-rows.ts';
import { type Access, countQuery, idsQuery, needsRows, pageQuery, type Sql, where } from './proxy-sql.ts';

/** Rows that are read in their order in the time in which an index finds one of them. */
const ROWS = 9;

export function createProxyQueries(database: Database) {
  const anyLogin = database.prepare<{ id: number }>('SELECT id FROM proxies WHERE login IS NOT NULL LIMIT 1');
  const select = <Row>({ text, values }: Sql) => database.prepare<Row>(text).all(...values);
  const idsOf = (query: Sql) => select<{ id: number }>(query).map(({ id }) => id);
  const counted = (filter: ProxyFilter, access: Access) =>
    select<{ total: number }>(countQuery(filter, access))[0]?.total ?? 0;
  /** Number of matches, as far as the counts tell. */
  const most = ({ protocols, countries, excludeCountries, status }: ProxyFilter) =>
    counted({ protocols, countries, excludeCountries, status }, 'index');
  const accessTo = (filter: ProxyFilter, sort: Sort = 'dependable') =>
    needsRows(filter, sort) && most(filter) * ROWS > most({}) ? 'rows' : 'index';

  return {
    select,
    count: (filter: ProxyFilter) => counted(filter, accessTo(filter)),
    page: (query: ProxyQuery) => idsOf(pageQuery(query, accessTo(query.filter, query.sort))),
    /** Returns the IDs of all matches. Default: in any order. */
    ids: (filter: ProxyFilter, sort?: Sort) => idsOf(idsQuery(filter, accessTo(filter, sort), sort)),
    /** Reports whether a walk in the order of `dependable` would read many rows for each of the matches. */
    areRare: (filter: ProxyFilter) =>
      accessTo(filter) === 'rows' && counted(filter, 'rows') * ROWS < most(filter),

    /** Returns the records of the IDs, in order, if they exist and match. */
    load(ids: readonly number[], filter: ProxyFilter): ProxyRecord[] {
      const { text, values } = where(filter);
      return select({
        // json_each also has an id.
        text: `SELECT ${RECORD} FROM (SELECT key, value FROM json_each(?)) AS wanted CROSS JOIN proxies p ON p.id = wanted.value
          WHERE ${text} ORDER BY wanted.key`,
        values: [JSON.stringify(ids), ...values],
      });
    },

    /** Removes a condition that every record of a pool without logins meets, because counting it would need a walk. */
    simplified(filter: ProxyFilter): ProxyFilter {
      if (filter.login !== false || anyLogin.get() !== null) return filter;
      const { login: _, ...rest } = filter;
      return rest;
    },
  };
}

/** Queries of the pool by a single statement. */
export type ProxyQueries = ReturnType<typeof createProxyQueries>;

interface Draw {
  ids: ProxyQueries['ids'];
  filter: ProxyFilter;
  total: number;
  /** Default: all. */
  limit?: number;
  /** 0 <= random() < 1. */
  random: () => number;
}

/** A random row costs about as much as this many neighbours in an index. */
const TRY_COST = 10;

/** Random tries may take this many times what is expected before the matches are listed instead. */
const PATIENCE = 2;

/**
 * Returns up to `limit` IDs of matches, drawn without replacement, each set and each order equally likely: by trying
 * random IDs, or by drawing from a list of the matches, whichever is cheaper.
 */
export function drawIds(database: Database, { ids, filter, total, limit = total, random }: Draw): number[] {
  const wanted = Math.min(limit, total);
  if (wanted <= 0) return [];
  const { low, high } = span(database);
  const tries = (wanted * (high - low + 1)) / (total - wanted + 1);
  if (tries * TRY_COST < total) {
    const { text, values } = where(filter);
    const matches = database.prepare(`SELECT 1 FROM proxies WHERE id = ? AND ${text}`);
    const drawn = new Set<number>();
    for (let left = Math.ceil(tries * PATIENCE); left > 0 && drawn.size < wanted; left--) {
      const id = low + Math.floor(random() * (high - low + 1));
      if (matches.get(id, ...values)) drawn.add(id);
    }
    if (drawn.size === wanted) return [...drawn];
  }
  return drawFrom(ids(filter), wanted, random);
}

function span(database: Database): { low: number; high: number } {
  const sql = 'SELECT (SELECT min(id) FROM proxies) AS low, (SELECT max(id) FROM proxies) AS high';
  return database.prepare<{ low: number; high: number }>(sql).get() ?? { low: 0, high: 0 };
}

/** The first steps of a Fisher-Yates shuffle. */
function drawFrom(ids: number[], wanted: number, random: () => number): number[] {
  return Array.from({ length: Math.min(wanted, ids.length) }, (_, index) => {
    const other = index + Math.floor(random() * (ids.length - index));
    const chosen = ids[other] ?? 0;
    ids[other] = ids[index] ?? 0;
    return chosen;
  });
}
