import { expect, test } from 'bun:test';
import { type GatewayDoor, gatewayRoutes } from '../../src/gateway/routes.ts';

test('browsers send to the gateway what it would not refuse as local, and nothing else', async () => {
  const [route] = gatewayRoutes({ port: 8899 } as GatewayDoor);
  if (!route) throw new Error('there is no route');
  const call = { context: { origin: 'http://pool.example.test:3000' } } as Parameters<typeof route.handle>[0];
  const file = await (await route.handle(call)).text();
  const isPlainHostName = (host: string) => !host.includes('.') && !host.includes(':');
  const find = new Function('isPlainHostName', `${file}; return FindProxyForURL;`)(isPlainHostName);
  const way = (host: string) => find(`http://${host}/`, host);
  const local = [
    'printer',
    'nas.lan',
    'x.internal',
    'router.home.arpa',
    'A.LOCAL',
    'fritz.home',
    '::1',
    '[fe80::1]',
  ];
  const addresses = [
    '10.1.2.3',
    '127.0.0.1',
    '172.16.0.1',
    '172.31.255.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
  ];
  for (const host of [...local, ...addresses]) expect([host, way(host)]).toEqual([host, 'DIRECT']);
  const remote = [
    '10.example.com',
    '127.example.com',
    '192.168.example.com',
    'lan.example',
    'example.com',
    '172.32.0.1',
    '100.128.0.1',
  ];
  for (const host of remote) expect([host, way(host)]).toEqual([host, 'PROXY pool.example.test:8899']);
});
