import { expect, test } from 'bun:test';
import { readUser as read } from '../../src/gateway/user-options.ts';

const NAMED = new Map([['search', 'example.com']]);
const readUser = (name: string) => read(name, NAMED);
const DEFAULTS = { sessionMs: 600_000, sessionLock: false };

test('a user name has options in any order', () => {
  expect(readUser('me-country-de-session-a_1-sesstime-30-anonymity-ELITE-max_latency-800-sesslock')).toEqual({
    user: 'me',
    options: {
      country: 'DE',
      session: 'a_1',
      sessionMs: 1_800_000,
      anonymity: 'elite',
      maxLatencyMs: 800,
      sessionLock: true,
    },
  });
  expect(readUser('')).toEqual({ user: '', options: DEFAULTS });
});

test('the way to choose an exit is an option', () => {
  expect(readUser('me-rotate-FAST-country-de').options).toEqual({
    ...DEFAULTS,
    rotation: 'fast',
    country: 'DE',
  });
});

test('spellings of other services are accepted', () => {
  expect(readUser('me-cc-fr-sessid-x').options).toEqual({ ...DEFAULTS, country: 'FR', session: 'x' });
});

test('a domain may contain hyphens, and means its site', () => {
  expect(readUser('me-target-www.my-shop.example-country-de').options).toEqual({
    ...DEFAULTS,
    site: 'my-shop.example',
    country: 'DE',
  });
});

test('a target of the operator is found by name, ignoring case', () => {
  expect(readUser('me-target-Search-country-de').options).toEqual({
    ...DEFAULTS,
    site: 'example.com',
    country: 'DE',
  });
});

test.each([
  'me-country',
  'me-country-germany',
  'me-sesstime-31',
  'me-session-',
  'me-session-a.b',
  'me-target-shop',
  'me-colour-red',
  'me-rotate',
  'me-rotate-quickly',
  'me-max_latency-fast',
])('is told what is wrong: %s', (name) => {
  expect(() => readUser(name)).toThrow(/user name/);
});
