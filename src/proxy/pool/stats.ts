import type { TInteger, TNumber } from '@sinclair/typebox';
import { integer, named, number } from '../../lib/schema.ts';
import { UNKNOWN_COUNTRY } from '../proxy.ts';
import type { PoolSummary } from '../store.ts';

interface Field {
  schema: TInteger | TNumber;
  /** In the API description. */
  example: number;
  of: (summary: PoolSummary) => number;
}

/** The statistics of the pool. A line here is all that a new one needs. */
const FIELDS = {
  alive: {
    schema: integer('Number of working proxies.'),
    example: 1203,
    of: ({ alive }) => alive,
  },
  total: {
    schema: integer('Number of proxies.'),
    example: 48_210,
    of: ({ total }) => total,
  },
  avg_response_time: {
    schema: number('Mean response time of working proxies, in ms.'),
    example: 873.41,
    of: ({ averageResponseMs }) => Math.round(averageResponseMs * 100) / 100,
  },
  countries: {
    schema: integer('Number of countries with working proxies.'),
    example: 71,
    of: ({ aliveCountries }) => aliveCountries.filter(({ country }) => country !== UNKNOWN_COUNTRY).length,
  },
} satisfies Record<string, Field>;

type Name = keyof typeof FIELDS;
export type PoolStats = Record<Name, number>;

function each<T>(take: (field: Field) => T): Record<Name, T> {
  const taken = Object.entries(FIELDS).map(([name, field]) => [name, take(field)]);
  return Object.fromEntries(taken);
}

export const statsSchema = named(
  'PoolStats',
  each(({ schema }) => schema),
);
export const statsExample: PoolStats = each(({ example }) => example);
export const statsOf = (summary: PoolSummary): PoolStats => each(({ of }) => of(summary));
