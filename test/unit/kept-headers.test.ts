import { expect, test } from 'bun:test';
import { KeptHeaders } from '../../src/http/kept-headers.ts';

test('reused headers hold the values of each request, whatever they held before', () => {
  const kept = new KeptHeaders(new Headers({ etag: '"1"' }));
  const told = (id: string, limit: number, remaining: number, reset: number) => {
    kept.stamp(id, { limit, remaining, reset });
    const names = ['etag', 'x-request-id', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];
    return names.map((name) => kept.headers.get(name)).join(' ');
  };
  expect(told('a', 10, 9, 1)).toBe('"1" a 10 9 1');
  expect(told('b', 10, 8, 1)).toBe('"1" b 10 8 1');
  expect(told('b', 20, 8, 2)).toBe('"1" b 20 8 2');
  expect(told('c', 10, 9, 1)).toBe('"1" c 10 9 1');
});
