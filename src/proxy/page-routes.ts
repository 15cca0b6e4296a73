import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { coerce } from '../lib/schema.ts';
import { type ProxyPagesOptions, showProxies } from './pages.ts';
import { listQuery } from './queries.ts';

const {
  limit: _limit,
  offset: _offset,
  random: _random,
  target: _target,
  format: _format,
  ...filters
} = listQuery.properties;

const pageQuery = Type.Object(
  {
    ...filters,
    page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Counted from 1.' })),
  },
  { additionalProperties: true },
);

/** The page of the proxy pool. */
export function proxyPageRoutes(options: ProxyPagesOptions) {
  return new Elysia().get('/proxies', ({ query, request }) => showProxies(options, query, request), {
    query: pageQuery,
    transform: ({ query }) => coerce(pageQuery, query),
    detail: { hide: true },
  });
}
