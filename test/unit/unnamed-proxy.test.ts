import { expect, test } from 'bun:test';
import { warn } from '../../src/findings/finding.ts';
import { createClients } from '../../src/http/client/clients.ts';
import { createProxyTrust } from '../../src/http/client/proxy-trust.ts';

const forwarded = new Headers({ 'x-forwarded-for': '198.51.100.7' });

function create(trusted: string[] = []) {
  const clock = { ms: 0 };
  const clients = createClients({ trust: createProxyTrust(trusted), log: () => {}, now: () => clock.ms });
  return { clock, clients };
}

test('an unnamed proxy in our own network is reported for a day', async () => {
  const { clock, clients } = create();
  expect(await clients.findings()).toEqual([]);
  expect(clients.addressOf('10.0.0.9', forwarded)).toBe('10.0.0.9');
  expect(await clients.findings()).toEqual([
    warn('A proxy at 10.0.0.9 is not in TRUSTED_PROXIES: all its visitors share its address.'),
  ]);
  clock.ms += 24 * 3_600_000;
  expect(await clients.findings()).toEqual([]);
});

test('strangers who send such headers, and named proxies, are not reported', async () => {
  const { clients } = create(['10.0.0.9']);
  clients.addressOf('203.0.113.9', forwarded);
  clients.identityOf('203.0.113.10', forwarded);
  clients.addressOf('10.0.0.9', forwarded);
  expect(await clients.findings()).toEqual([]);
});

test.each([
  'forwarded',
  'x-real-ip',
  'x-forwarded-host',
  'x-client-ip',
  'cf-connecting-ip',
  'client-ip',
  'via',
])('a request with the header %s came through a proxy', (name) => {
  const { clients } = create();
  expect(clients.isDirect('127.0.0.1', new Headers({ [name]: '198.51.100.7' }))).toBe(false);
});

test('a visitor on this machine is direct until anything hints at a proxy', () => {
  const { clients } = create();
  const plain = new Headers();
  expect(['127.0.0.1', '::1', '::ffff:127.0.0.1'].map((peer) => clients.isDirect(peer, plain))).toEqual(
    Array(3).fill(true),
  );
  expect(['10.0.0.9', '203.0.113.9', ''].map((peer) => clients.isDirect(peer, plain))).toEqual(
    Array(3).fill(false),
  );
  expect(clients.isDirect('127.0.0.1', new Headers({ connection: 'close' }))).toBe(false);
  expect(clients.isDirect('127.0.0.1', new Headers({ via: '1.1 caddy' }))).toBe(false);
  expect(clients.isDirect('127.0.0.1', plain)).toBe(false);
  const trusting = create(['127.0.0.1']).clients;
  expect(trusting.isDirect('127.0.0.1', plain)).toBe(false);
  expect(trusting.isDirect('127.0.0.1', new Headers({ 'x-forwarded-for': '127.0.0.1' }))).toBe(false);
});
