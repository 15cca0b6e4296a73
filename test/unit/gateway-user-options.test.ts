import { expect, test } from 'bun:test';
import { readUser as read, type UserOptions } from '../../src/gateway/user-options.ts';
import { words } from '../support/words.ts';

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

test.each<[user: string, port: string, options: Partial<UserOptions>]>([
  ['', '', {}],
  [
    'me-country-de-session-a_1-sesstime-30-anonymity-ELITE-max_latency-800-sesslock',
    '',
    {
      countries: ['DE'],
      session: 'a_1',
      sessionMs: 1_800_000,
      anonymity: 'elite',
      maxLatencyMs: 800,
      sessionLock: true,
    },
  ],
  ['me-rotate-FAST-country-de', '', { rotation: 'fast', countries: ['DE'] }],
  ['me-country-uk.DE-not-cn.ru', '', { countries: ['GB', 'DE'], notCountries: ['CN', 'RU'] }],
  // The name in front may be missing, and be that of an option if it stands alone.
  ['country-de-session-a', '', { countries: ['DE'], session: 'a' }],
  ['sesslock-session-a', '', { sessionLock: true, session: 'a' }],
  ['session', '', {}],
  // A domain may contain hyphens, and means its site; a target of the operator has a name.
  ['me-target-www.my-shop.example-country-de', '', { site: 'my-shop.example', countries: ['DE'] }],
  ['me-target-Search-country-de', '', { site: 'example.com', countries: ['DE'] }],
  // Lists are named in order, and their names may contain dots and hyphens.
  ['me-source-mine.FREE-country-de', '', { sources: [mine, both], countries: ['DE'] }],
  ['me-source-/etc/mine.txt.free-http.free', '', { sources: [mine, new Set(['a-http']), both] }],
  // The options of a port take precedence.
  ['', 'country-de', { countries: ['DE'] }],
  ['me-country-us-source-mine', 'country-de-source-free', { countries: ['DE'], sources: [both] }],
  ['me-target-a.example', 'source-free', { site: 'a.example', sources: [both] }],
])('the user name "%s" at a port with "%s" has these options: %j', (name, fixed, options) => {
  expect(readUser(name, fixed)).toEqual({ ...DEFAULTS, ...options });
});

test('what no proxy can ever fit is refused', () => {
  expect(() => readUser('me-country-de.fr-not-fr.de')).toThrow('exclude each other');
  expect(() => readUser('me-max_latency-0')).toThrow('max_latency');
  expect(() => readUser('me-colour-red')).toThrow('"colour" is not an option');
  expect(readUser('me-country-de.fr-not-fr').notCountries).toEqual(['FR']);
});

test('no option of the client takes one of the port as its value', () => {
  for (const open of ['me-target', 'me-session', 'me-country', 'me-source'])
    expect(() => readUser(open, 'source-free')).toThrow('user name must be');
  expect(() => readUser('me-not-de', 'country-de')).toThrow('exclude each other');
});

test.each([
  ...words`
    me-country me-country-us. me-country-eu me-not-qq me-not-germany me-source-strange me-source-mine.strange me-source-
  `,
  `me-source-${'free.'.repeat(9)}mine`,
  ...words`
    me-country-germany me-sesstime-31 me-session- me-session-a.b me-target-shop me-colour-red
    me-rotate me-rotate-quickly me-max_latency-fast
  `,
])('is told what is wrong: %s', (name) => {
  expect(() => readUser(name)).toThrow(/user name/);
});
