import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type { Checker } from '../../src/proxy/check/checker.ts';
import type { Protocol } from '../../src/proxy/proxy.ts';
import { createCertificates } from '../support/certificates.ts';
import { localChecker } from '../support/checkers.ts';
import { type JudgeServer, startJudge } from '../support/judge-server.ts';
import { type RealProxy, startDante, startMicrosocks, startTinyproxy } from '../support/real-proxies.ts';

let judges: JudgeServer[];
let checker: Checker;
let tinyproxy: RealProxy;
let microsocks: RealProxy;
let dante: RealProxy;

beforeAll(async () => {
  const certificates = await createCertificates();
  judges = [await startJudge(), await startJudge({ tls: certificates.good, host: 'localhost' })];
  checker = localChecker({
    judges: judges.map(({ url }) => url),
    ca: certificates.ca,
    resolve: async () => ['127.0.0.1'],
  });
  tinyproxy = await startTinyproxy('127.9.0.1', await freePort('127.9.0.1'));
  microsocks = await startMicrosocks('127.9.0.2', await freePort('127.9.0.2'));
  dante = await startDante('127.9.0.3', await freePort('127.9.0.3'));
});

afterAll(async () => {
  checker.close();
  await Promise.all([...judges, tinyproxy, microsocks, dante].map((one) => one?.stop()));
});

function freePort(host: string): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, host, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

test('tinyproxy is an HTTP proxy that says so', async () => {
  expect(await check('http', '127.9.0.1', tinyproxy)).toMatchObject({
    verdict: 'alive',
    exitIp: '127.9.0.1',
    anonymity: 'anonymous',
    tampering: ['via'],
  });
});

test('tinyproxy is an HTTPS proxy, too', async () => {
  const result = await check('https', '127.9.0.1', tinyproxy);
  expect(result).toMatchObject({ verdict: 'alive', exitIp: '127.9.0.1', anonymity: 'elite', tampering: [] });
});

test('tinyproxy is no SOCKS proxy', async () => {
  // It waits for the rest of what it takes for an HTTP request.
  const plain = judges.filter(({ url }) => url.startsWith('http:'));
  const hasty = localChecker({ judges: plain.map(({ url }) => url), timeoutMs: 500 });
  for (const protocol of ['socks4', 'socks5'] as const) {
    const result = await hasty.check({ protocol, ip: '127.9.0.1', port: tinyproxy.port });
    expect(result).toMatchObject({ verdict: 'dead' });
  }
  hasty.close();
});

test('microsocks is a SOCKS5 proxy', async () => {
  const result = await check('socks5', '127.9.0.2', microsocks);
  expect(result).toMatchObject({ verdict: 'alive', exitIp: '127.9.0.2', anonymity: 'elite', tampering: [] });
});

for (const protocol of ['socks4', 'socks5'] as const) {
  test(`dante is a ${protocol.toUpperCase()} proxy`, async () => {
    const result = await check(protocol, '127.9.0.3', dante);
    expect(result).toMatchObject({
      verdict: 'alive',
      exitIp: '127.9.0.3',
      anonymity: 'elite',
      tampering: [],
    });
  });
}

function check(protocol: Protocol, ip: string, { port }: RealProxy) {
  return checker.check({ protocol, ip, port });
}
