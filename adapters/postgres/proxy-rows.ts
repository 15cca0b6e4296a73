import { columnOf, namesOf } from '../../src/lib/fields.ts';
import { SKEW_MS } from '../../src/lib/stored-time.ts';
import { endpointKey, PROXY_FIELDS } from '../../src/proxy/fields.ts';
import type { Endpoint, ProxyRecord } from '../../src/proxy/proxy.ts';
import type { ProxyDraft } from '../../src/proxy/store.ts';
import { type Ask, arrayOf, type PostgresConnection, type Value } from './connection.ts';
import { TYPES } from './schema.ts';

type Field = keyof ProxyDraft;

const FIELDS = namesOf(PROXY_FIELDS);
const ENDPOINT = ['protocol', 'ip', 'port'] as const;
const REPLACED = FIELDS.filter((field) => !(ENDPOINT as readonly Field[]).includes(field));

/** Columns of `p` that make a row a `ProxyRecord`. */
export const RECORD = ['p.id', ...FIELDS.map((field) => `p.${columnOf(field)} AS "${field}"`)].join(', ');

const columns = (fields: readonly Field[]) => fields.map(columnOf).join(', ');
/** Arrays of the fields as one table, `u`. */
const unnested = (fields: readonly Field[], first: number) =>
  `unnest(${fields.map((field, place) => `$${first + place}::${TYPES[PROXY_FIELDS[field].kind]}[]`).join(', ')})`;
const arrays = <F extends Field>(drafts: readonly Pick<ProxyDraft, F>[], fields: readonly F[]): Value[] =>
  fields.map((field) => arrayOf(drafts.map((draft) => draft[field])));

/** Reads and writes proxies by their endpoints. */
export function createProxyRows({ table }: Pick<PostgresConnection, 'table'>) {
  const proxies = table('proxies');
  const find = `SELECT ${RECORD} FROM ${proxies} p
    JOIN ${unnested(ENDPOINT, 1)} AS u (${columns(ENDPOINT)})
      ON p.ip = u.ip AND p.port = u.port AND p.protocol = u.protocol`;
  const insert = `INSERT INTO ${proxies} (version, ${columns(FIELDS)})
    SELECT $1::bigint, u.* FROM ${unnested(FIELDS, 2)} AS u (${columns(FIELDS)}) RETURNING id, protocol, ip, port`;
  const replace = `UPDATE ${proxies} p SET version = $1,
      ${REPLACED.map((field) => `${columnOf(field)} = u.${columnOf(field)}`).join(', ')}
    FROM unnest($2::bigint[]) WITH ORDINALITY AS i (id, place)
    JOIN ${unnested(REPLACED, 3)} WITH ORDINALITY AS u (${columns(REPLACED)}, place) ON u.place = i.place
    WHERE p.id = i.id AND (p.last_checked <= u.last_checked
      OR p.last_checked > extract(epoch FROM clock_timestamp()) * 1000 + ${SKEW_MS})`;

  return {
    /** Returns the records of the known endpoints by their keys. */
    async lookup(ask: Ask, endpoints: readonly Endpoint[]): Promise<Map<string, ProxyRecord>> {
      const found = await ask<ProxyRecord>(find, arrays(endpoints, ENDPOINT));
      return new Map(found.map((record) => [endpointKey(record), record]));
    },
    /** Inserts missing proxies, and returns the IDs. Needs the lock of the version. */
    async insert(ask: Ask, drafts: readonly ProxyDraft[], version: number): Promise<Map<string, number>> {
      if (drafts.length === 0) return new Map();
      const added = await ask<ProxyRecord>(insert, [version, ...arrays(drafts, FIELDS)]);
      return new Map(added.map((record) => [endpointKey(record), record.id]));
    },
    /** Replaces records by ID, except those that were checked later, but not in the future. */
    async replace(
      ask: Ask,
      drafts: readonly (ProxyDraft & { id: number })[],
      version: number,
    ): Promise<void> {
      if (drafts.length === 0) return;
      await ask(replace, [version, arrayOf(drafts.map(({ id }) => id)), ...arrays(drafts, REPLACED)]);
    },
  };
}
