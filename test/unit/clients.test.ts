import { expect, test } from 'bun:test';
import { warn } from '../../src/findings/finding.ts';
import { createClients } from '../../src/http/client/clients.ts';
import { createProxyTrust } from '../../src/http/client/proxy-trust.ts';
import { words } from '../support/words.ts';

const HOUR_MS = 3_600_000;
const FORWARDED = { 'x-forwarded-for': '203.0.113.1' };

/** Clients of a server behind a proxy at `::1`, at a time that the test sets. */
function createTestClients(isShared?: (address: string) => boolean, trusted = ['::1']) {
  const warnings: unknown[] = [];
  const clock = { ms: 0 };
  const clients = createClients({
    trust: createProxyTrust(trusted),
    ...(isShared && { isShared }),
    log: (_level, _message, facts) => void warnings.push(facts),
    now: () => clock.ms,
  });
  const identityOf = (peer: string, headers = {}) => clients.identityOf(peer, new Headers(headers));
  const isDirect = (peer: string, headers = {}) => clients.isDirect(peer, new Headers(headers));
  return { clients, clock, warnings, identityOf, isDirect };
}

test('a visitor on this machine is direct until anything hints at a proxy', () => {
  const { isDirect } = createTestClients();
  for (const peer of ['127.0.0.1', '127.0.0.2', '::ffff:127.0.0.1'])
    expect([peer, isDirect(peer)]).toEqual([peer, true]);
  for (const peer of ['192.0.2.1', '10.0.0.9', '', '::1'])
    expect([peer, isDirect(peer)]).toEqual([peer, false]);
  expect(isDirect('127.0.0.1', { connection: 'keep-alive' })).toBe(true);
  expect(isDirect('127.0.0.1', { connection: 'Close' })).toBe(false);
  expect(isDirect('127.0.0.2', FORWARDED)).toBe(false);
  expect(isDirect('127.0.0.2')).toBe(false);
  expect(isDirect('::1', { 'x-forwarded-for': '127.0.0.1' })).toBe(false);
  expect(createTestClients(undefined, []).isDirect('::1')).toBe(true);
});

test.each(words`
  forwarded x-real-ip x-forwarded-host x-client-ip cf-connecting-ip client-ip via
`)('a request with the header %s came through a proxy', (name) => {
  expect(createTestClients().isDirect('127.0.0.1', { [name]: '198.51.100.7' })).toBe(false);
});

test('an unnamed proxy in our own network is reported for a day, and neither a stranger who sends such headers nor a named one', async () => {
  const { clients, clock } = createTestClients();
  for (const peer of ['203.0.113.9', '::1', '10.0.0.9']) clients.addressOf(peer, new Headers(FORWARDED));
  clients.identityOf('203.0.113.10', new Headers(FORWARDED));
  expect(await clients.findings()).toEqual([
    warn('A proxy at 10.0.0.9 is not in TRUSTED_PROXIES: all its visitors share its address.'),
  ]);
  clock.ms += 24 * HOUR_MS;
  expect(await clients.findings()).toEqual([]);
});

test('an address that is known to be shared does not count as a direct client', () => {
  expect(createTestClients((address) => address === '127.0.0.1').isDirect('127.0.0.1')).toBe(false);
});

test('who once forwarded for others gives no rights for a day', () => {
  const { clock, identityOf } = createTestClients();
  expect(identityOf('10.0.0.7')).toBe('10.0.0.7');
  clock.ms = HOUR_MS;
  expect(identityOf('10.0.0.7', FORWARDED)).toBeNull();
  clock.ms = 25 * HOUR_MS - 1;
  expect(identityOf('10.0.0.7')).toBeNull();
  expect(identityOf('10.0.0.8')).toBe('10.0.0.8');
  clock.ms = 25 * HOUR_MS;
  expect(identityOf('10.0.0.7')).toBe('10.0.0.7');
});

test('the log says at most once an hour that a proxy is not named', () => {
  const { clock, identityOf, warnings } = createTestClients();
  const seen = [0, 1, HOUR_MS - 1, HOUR_MS, HOUR_MS + 1].map((ms) => {
    clock.ms = ms;
    identityOf('10.0.0.7', FORWARDED);
    return warnings.length;
  });
  expect(seen).toEqual([1, 1, 1, 2, 2]);
  expect(warnings[0]).toEqual({ peer: '10.0.0.7', header: 'x-forwarded-for' });
});

test('a client with two spellings of one address agrees with itself', () => {
  const { identityOf } = createTestClients();
  const client = '2606:4700::11';
  expect(identityOf('::1', { 'x-forwarded-for': client, 'x-real-ip': '2606:4700:0::0011' })).toBe(client);
  expect(identityOf('::1', { 'x-forwarded-for': client, 'x-real-ip': '2606:4700::12' })).toBeNull();
});
