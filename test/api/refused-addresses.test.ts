import { expect, test } from 'bun:test';
import { canonicalAddress, isGloballyRoutable } from '../../src/lib/address.ts';
import { createChecker } from '../../src/proxy/check/checker.ts';
import { FORBIDDEN } from '../support/clients/forbidden-addresses.ts';
import { json } from '../support/json.ts';
import { parse } from '../support/pool/source-parsing.ts';
import { runServer } from '../support/servers/running-server.ts';
import { shared } from '../support/shared.ts';

const SPELLINGS = Object.values(FORBIDDEN).flat();

const server = shared(() =>
  runServer({
    SERVICES: 'proxy',
    RATE_LIMITS: 'off',
    ADMIN_TOKEN: 'the-token-of-the-administrator',
  }),
);

test('of an address that is not public no spelling, of more than a hundred, comes out of a list', () => {
  expect(SPELLINGS.length).toBeGreaterThan(100);
  for (const address of SPELLINGS) {
    const list = [`${address}:8080`, `[${address}]:8080`, `http://${address}:8080/`, `8080 ${address}`].join(
      '\n',
    );
    for (const url of parse('lines', list, 'http').taken) {
      const found = new URL(url.split(' ')[0] ?? '').hostname.replace(/^\[|\]$/g, '');
      expect([address, url, isGloballyRoutable(found)]).toEqual([address, url, true]);
    }
  }
});

test('the checker dials none of them, not even for an administrator', async () => {
  const dialled: string[] = [];
  const checker = createChecker({
    judges: ['http://1.1.1.1/'],
    timeoutMs: 1000,
    allowPrivate: false,
    now: Date.now,
    randomToken: () => 'token',
    log: () => {},
    // Names are refused for where they lead.
    resolve: async () => ['10.0.0.1'],
    dial(address) {
      dialled.push(address);
      throw new Error('nothing is dialled here');
    },
  });
  for (const ip of SPELLINGS) {
    const result = await checker.check({ ip, port: 8080, protocol: 'http' });
    expect([ip, result]).toEqual([
      ip,
      expect.objectContaining({ verdict: 'dead', error: 'refused_address' }),
    ]);
  }
  checker.close();
  expect(dialled).toEqual([]);
});

test('none is tested for a caller, or added to the pool', async () => {
  for (const ip of SPELLINGS) {
    const answer = await server.post('/api/test_proxy_quick', { ip, port: 8080 });
    // A public address in the clothes of IPv6 is known for what it is; no judge answers here.
    const bare = canonicalAddress(ip);
    expect([ip, answer.status]).toEqual([ip, bare !== null && isGloballyRoutable(bare) ? 503 : 400]);
  }
  expect((await json(await server.send('/api/stats'))).total).toBe(0);
});
