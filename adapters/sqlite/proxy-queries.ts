import type { ProxyFilter, ProxyRecord } from '../../src/proxy/proxy.ts';
import type { Database } from './database.ts';
import { RECORD } from './proxy-rows.ts';
import { countQuery, type Sql, where } from './proxy-sql.ts';

/** Queries of the pool by a single statement. */
export interface ProxyQueries {
  select<Row>(query: Sql): Row[];
  count(filter: ProxyFilter): number;
  /** Returns the records of the IDs, in order, if they exist and match. */
  load(ids: readonly number[], filter: ProxyFilter): ProxyRecord[];
  /** Removes a condition that every record of a pool without logins meets, because counting it would need a walk. */
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
        // json_each also has an id.
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
