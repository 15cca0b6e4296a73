import { expect, test } from 'bun:test';
import { readUser as read } from '../../src/gateway/user-options.ts';

const NAMED = new Map([['search', 'example.com']]);
const mine = new Set(['/etc/mine.txt']);
const both = new Set(['a', 'a-http']);
const SOURCES = new Map([
  ['/etc/mine.txt', mine],
  ['mine', mine],
  ['free', both],
  ['free-http', new Set(['a-http'])],
]);
const readUser = (name: string, fixed?: string) => read(name, { sites: NAMED, sources: SOURCES }, fixed);
const DEFAULTS = { sessionMs: 600_000, sessionLock: false };

test('a user name has options in any order', () => {
  expect(readUser('me-country-de-session-a_1-sesstime-30-anonymity-ELITE-max_latency-800-sesslock')).toEqual({
    countries: ['DE'],
    session: 'a_1',
    sessionMs: 1_800_000,
    anonymity: 'elite',
    maxLatencyMs: 800,
    sessionLock: true,
  });
  expect(readUser('')).toEqual(DEFAULTS);
});

test('what no proxy can ever fit is refused', () => {
  expect(() => readUser('me-country-de.fr-not-fr.de')).toThrow('exclude each other');
  expect(() => readUser('me-max_latency-0')).toThrow('max_latency');
  expect(readUser('me-country-de.fr-not-fr').notCountries).toEqual(['FR']);
});

test('the options of a port take precedence, and no option of the client takes one as its value', () => {
  expect(readUser('', 'country-de')).toEqual({ ...DEFAULTS, countries: ['DE'] });
  expect(readUser('me-country-us-source-mine', 'country-de-source-free').countries).toEqual(['DE']);
  expect(readUser('me-country-us-source-mine', 'country-de-source-free').sources).toEqual([both]);
  expect(readUser('me-target-a.example', 'source-free')).toEqual({
    ...DEFAULTS,
    site: 'a.example',
    sources: [both],
  });
  for (const open of ['me-target', 'me-session', 'me-country', 'me-source'])
    expect(() => readUser(open, 'source-free')).toThrow('user name must be');
  expect(() => readUser('me-not-de', 'country-de')).toThrow('exclude each other');
});

test('the way to choose an exit is an option', () => {
  expect(readUser('me-rotate-FAST-country-de')).toEqual({
    ...DEFAULTS,
    rotation: 'fast',
    countries: ['DE'],
  });
});

test('spellings of other services are accepted', () => {
  expect(readUser('me-cc-fr-sessid-x')).toEqual({ ...DEFAULTS, countries: ['FR'], session: 'x' });
});

test('a domain may contain hyphens, and means its site', () => {
  expect(readUser('me-target-www.my-shop.example-country-de')).toEqual({
    ...DEFAULTS,
    site: 'my-shop.example',
    countries: ['DE'],
  });
});

test('a target of the operator is found by name, ignoring case', () => {
  expect(readUser('me-target-Search-country-de')).toEqual({
    ...DEFAULTS,
    site: 'example.com',
    countries: ['DE'],
  });
});

test('several countries are chosen or left out', () => {
  expect(readUser('me-country-us.DE-not-cn.ru')).toEqual({
    ...DEFAULTS,
    countries: ['US', 'DE'],
    notCountries: ['CN', 'RU'],
  });
});

test('lists are named in order, and their names may contain dots and hyphens', () => {
  const sourcesOf = (name: string) => readUser(name).sources;
  expect(sourcesOf('me-source-mine.FREE-country-de')).toEqual([mine, both]);
  expect(sourcesOf('me-source-/etc/mine.txt.free-http.free')).toEqual([mine, new Set(['a-http']), both]);
  const long = `me-source-${'free.'.repeat(9)}mine`;
  expect(() => readUser(long)).toThrow(/source in the user name must be the names of lists/);
});

test.each([
  'me-country',
  'me-country-us.',
  'me-not-germany',
  'me-source-strange',
  'me-source-mine.strange',
  'me-source-',
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
