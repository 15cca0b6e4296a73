import { expect, test } from 'bun:test';
import { networkInterfaces } from 'node:os';
import { findSharedPeers } from '../../src/start/shared-peers.ts';

const ROUTES = {
  '/proc/net/route': `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
`,
  '/proc/net/ipv6_route': `fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000002 00000000 00000003     eth0
`,
};

const find = async (host: string, files: Record<string, string>, env = {}) =>
  [...(await findSharedPeers(host, env, async (path) => files[path] ?? null))].sort();
const findBlindly = async (host: string) => [...(await findSharedPeers(host, {}, async () => undefined))];

test('the address of the default gateway counts as shared, because routers that forward ports show theirs', async () => {
  expect(await find('0.0.0.0', ROUTES)).toEqual(['172.17.0.1', 'fd00::1']);
  expect(await find('0.0.0.0', {})).toEqual([]);
});

test('in a container that listens on all addresses, so do loopback and its own', async () => {
  const own = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
  for (const [files, env] of [
    [{ '/.dockerenv': '' }, {}],
    [{ '/run/.containerenv': '' }, {}],
    [{}, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }],
  ] as const) {
    expect(await find('0.0.0.0', files, env)).toEqual(
      expect.arrayContaining(own.filter((one) => !one.includes('%'))),
    );
    expect(await find('127.0.0.1', files, env)).toEqual([]);
    expect(await find('unix:/run/http.sock', files, env)).toEqual([]);
  }
});

test('what Deno forbids to read is guessed: that this is a container, or else that the first address of a network is a router', async () => {
  expect(await findBlindly('0.0.0.0')).toContain('127.0.0.1');
  const routers = await findBlindly('127.0.0.1');
  expect(routers).not.toContain('127.0.0.1');
  const interfaces = Object.values(networkInterfaces()).flatMap((all = []) => all);
  expect(routers.length > 0).toBe(interfaces.some(({ internal, family }) => !internal && family === 'IPv4'));
});
