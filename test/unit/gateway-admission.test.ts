import { describe, expect, test } from 'bun:test';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { AppError, inEnglish } from '../../src/errors.ts';
import { type Admission, createAdmit } from '../../src/gateway/admission.ts';
import { Sessions } from '../../src/gateway/sessions.ts';
import { unknownUpstream } from '../../src/gateway/upstream.ts';
import type { ProxyRecord } from '../../src/proxy/proxy.ts';
import { followed } from '../support/gateway/followed.ts';
import { draft } from '../support/stores/records.ts';

const common = {
  connections: 1,
  verify: async () => null,
  limiter: createLocalRateLimiter({ now: () => 0 }),
  sessions: new Sessions(() => 0),
  names: { sites: new Map(), sources: new Map() },
};

test('the exit of a session may become slower than asked for, but must be of the country', () => {
  const admit = createAdmit({ ...common, isOpen: () => true });
  const { suits } = admit({ user: 'u-country-de-max_latency-500', password: '' }, '127.0.0.1') as Admission;
  const proxy = { ...unknownUpstream({ protocol: 'http', ip: '192.0.2.1', port: 1 }), latencyMs: 600 };
  const exits = ['DE', 'US'].map((country) => ({ ...proxy, country }));
  expect(exits.map((exit) => [suits(exit, 'plain'), suits(exit, 'plain', true)])).toEqual([
    [false, true],
    [false, false],
  ]);
});

/** Of a proxy that forwards requests and opens tunnels. Only these prove where it leads to. */
const RECORDS = {
  http: draft({ protocol: 'http', anonymity: 'transparent', country: 'US', proof: 'relayed' }),
  https: draft({ protocol: 'https', anonymity: 'elite', country: 'DE', proof: 'tls' }),
};

/** Tells whether a user name suits the proxy for tunnels, and for plain requests. */
async function suited(protocols: readonly (keyof typeof RECORDS)[], user: string) {
  const found = await followed({
    version: async () => '1',
    async *stream() {
      yield protocols.map((protocol) => RECORDS[protocol] as ProxyRecord);
    },
  });
  const admit = createAdmit({ ...common, isOpen: () => true });
  const { suits } = admit({ user, password: '' }, '127.0.0.1') as Admission;
  return [...found.values()].map((proxy) => [suits(proxy, 'tunnel'), suits(proxy, 'plain')]);
}

test('what a proxy only tunnels goes through its tunnel, also that of a session', async () => {
  expect(await suited(['https'], 'u-anonymity-elite-session-a')).toEqual([[true, true]]);
});

describe.each([[['https', 'http']], [['http', 'https']]] as const)(
  'of a proxy with two records, %j,',
  (order) => {
    test('what it adds to requests that it forwards counts for these alone', async () => {
      expect(await suited(order, 'u-anonymity-elite')).toEqual([[true, false]]);
      expect(await suited(order, 'u-anonymity-transparent')).toEqual([[false, true]]);
      // Its next request may be one that is forwarded.
      expect(await suited(order, 'u-anonymity-elite-session-a')).toEqual([[false, false]]);
    });

    test('the country is that of the exit, if either proves it', async () => {
      expect(await suited(order, 'u-country-de')).toEqual([[true, true]]);
      expect(await suited(order, 'u-country-us')).toEqual([[false, false]]);
    });
  },
);

test('a limiter that does not respond refuses clients in words', async () => {
  const limiter = { take: () => Promise.reject(new Error('no connection')) };
  const admit = createAdmit({
    ...common,
    isOpen: () => false,
    verify: async (id) => ({ id, rate: { capacity: 60, perSecond: 1 }, quota: null }),
    limiter,
  });
  await expect(Promise.resolve(admit({ user: 'u', password: 'token' }, '192.0.2.1'))).rejects.toMatchObject({
    refusal: 'unavailable',
  });
});

test.each(['', 'x'])(
  'a token in place of the user is not taken for options, which would be repeated in the answer, password %j',
  async (password) => {
    const admit = createAdmit({ ...common, isOpen: () => false });
    const admitted = (async () => admit({ user: 'ab12-cd34', password }, '192.0.2.1'))();
    expect(await admitted.catch(({ message }) => message)).toContain('a token of the role gateway');
  },
);

test('a client that has guessed too many tokens hears how long it has to wait', async () => {
  const demandCalm = () => {
    throw new AppError('rate_limited', inEnglish('Too many wrong tokens.'), { retryAfterMs: 9000 });
  };
  const calm = { demandCalm, countWrong: async () => {} };
  const admit = createAdmit({ ...common, isOpen: () => false, calm });
  const refused = Promise.resolve(admit({ user: 'u', password: 'guess' }, '192.0.2.1'));
  await expect(refused).rejects.toMatchObject({ refusal: 'too_many_connections', retryAfterMs: 9000 });
});
