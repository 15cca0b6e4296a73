import type { ProxyFilter, ProxyRecord } from '../../src/proxy/proxy.ts';
import type { Database } from './database.ts';
import { RECORD } from './proxy-rows.ts';
import { countQuery, type Sql, where } from './proxy-sql.ts';

/** What one statement finds in the pool. */
export interface ProxyQueries {
  select<Row>(query: Sql): Row[];
  count(filter: ProxyFilter): number;
  /** The records of the ids, in their order, as far as they exist and match. */
  load(ids: readonly number[], filter: ProxyFilter): ProxyRecord[];
  /** Leaves out a condition that every record of a pool without logins meets: it could not be counted without a walk. */
  simplified(filter: ProxyFilter): ProxyFilter;
}

export function createProxyQueries(database: Database): ProxyQueries {
  const anyLogin = database.prepare<{ id: number }>('SELECT id FROM proxies WHERE login IS NOT NULL LIMIT 1');
  const select = <Row>({ text, values }: Sql) => database.prepare<Row>(text).all(...values);
  return {
    select,

    count: (filter) => select<{ total: number }>(countQuery(filter))[0]?.total ?? 0,

    load(ids, filter) {
      const { text, values } = where(filter);
      return select({
        // json_each has an id as well.
        text: `SELECT ${RECORD} FROM (SELECT key, value FROM json_each(?)) AS wanted CROSS JOIN proxies p ON p.id = wanted.value
          WHERE ${text} ORDER BY wanted.key`,
        values: [JSON.stringify(ids), ...values],
      });
    },

    simplified(filter) {
      if (filter.login !== false || anyLogin.get() !== null) return filter;
      const { login: _, ...rest } = filter;
      return rest;
    },
  };
}
