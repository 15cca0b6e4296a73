import { expect, test } from 'bun:test';
import { createClients } from '../../src/http/client/clients.ts';
import { createProxyTrust } from '../../src/http/client/proxy-trust.ts';

const forwarded = new Headers({ 'x-forwarded-for': '198.51.100.7' });

function create(trusted: string[] = []) {
  const clock = { ms: 0 };
  const clients = createClients({ trust: createProxyTrust(trusted), log: () => {}, now: () => clock.ms });
  return { clock, clients };
}

test('a proxy in our own network that no setting names makes the server say so for a day', async () => {
  const { clock, clients } = create();
  expect(await clients.faults()).toEqual([]);
  expect(clients.addressOf('10.0.0.9', forwarded)).toBe('10.0.0.9');
  expect(await clients.faults()).toEqual([
    'A proxy at 10.0.0.9 is not in TRUSTED_PROXIES: its visitors share its address.',
  ]);
  clock.ms += 24 * 3_600_000;
  expect(await clients.faults()).toEqual([]);
});

test('strangers who send such headers, and proxies that are named, change nothing', async () => {
  const { clients } = create(['10.0.0.9']);
  clients.addressOf('203.0.113.9', forwarded);
  clients.identityOf('203.0.113.10', forwarded);
  clients.addressOf('10.0.0.9', forwarded);
  expect(await clients.faults()).toEqual([]);
});
