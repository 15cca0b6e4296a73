import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Checker } from '../../src/proxy/check/checker.ts';
import type { Protocol } from '../../src/proxy/proxy.ts';
import { createCertificates } from '../support/certificates.ts';
import { localChecker } from '../support/farm/checkers.ts';
import { type JudgeServer, startJudge } from '../support/farm/judge-server.ts';
import { type RealProxy, startDante, startMicrosocks, startTinyproxy } from '../support/farm/real-proxies.ts';

let judges: JudgeServer[];
let checker: Checker;
let tinyproxy: RealProxy;
let microsocks: RealProxy;
let dante: RealProxy;
let locked: { http: RealProxy; socks5: RealProxy };
/** The headers of each request at the judges. */
const heard: string[] = [];
const LOGIN = { user: 'operator', password: 'correct-horse' };

beforeAll(async () => {
  const certificates = await createCertificates();
  const onRequest = (_path: string, _peer: string, headers: object) => heard.push(JSON.stringify(headers));
  judges = [
    await startJudge({ onRequest }),
    await startJudge({ tls: certificates.good, host: 'localhost', onRequest }),
  ];
  checker = localChecker({
    judges: judges.map(({ url }) => url),
    ca: certificates.ca,
    resolve: async () => ['127.0.0.1'],
  });
  tinyproxy = await startTinyproxy('127.9.0.1');
  microsocks = await startMicrosocks('127.9.0.2');
  locked = {
    http: await startTinyproxy('127.9.0.4', { login: LOGIN }),
    socks5: await startMicrosocks('127.9.0.5', LOGIN),
  };
  dante = await startDante('127.9.0.3');
});

afterAll(async () => {
  checker.close();
  await Promise.all(
    [...judges, tinyproxy, microsocks, dante, locked?.http, locked?.socks5].map((one) => one?.stop()),
  );
});

test('tinyproxy is an HTTP proxy that says so', async () => {
  expect(await check('http', '127.9.0.1', tinyproxy)).toMatchObject({
    verdict: 'alive',
    exitIp: '127.9.0.1',
    anonymity: 'anonymous',
    tampering: ['via'],
  });
});

test('a tinyproxy that takes headers out of requests tampers with them', async () => {
  const stripping = await startTinyproxy('127.9.0.6', {
    more: 'DisableViaHeader Yes\nAnonymous "Host"\n',
  });
  const result = await check('http', '127.9.0.6', stripping).finally(stripping.stop);
  expect(result).toMatchObject({ verdict: 'alive', anonymity: 'elite', tampering: ['user-agent', 'accept'] });
});

test.each([
  ['https', '127.9.0.1', () => tinyproxy],
  ['socks5', '127.9.0.2', () => microsocks],
  ['socks4', '127.9.0.3', () => dante],
  ['socks5', '127.9.0.3', () => dante],
] as const)('%s through %s changes nothing', async (protocol, ip, proxy) => {
  const untouched = { verdict: 'alive', exitIp: ip, anonymity: 'elite', tampering: [] };
  expect(await check(protocol, ip, proxy())).toMatchObject(untouched);
});

for (const [protocol, ip, proxy] of [
  ['http', '127.9.0.4', () => locked.http],
  ['https', '127.9.0.4', () => locked.http],
  ['socks5', '127.9.0.5', () => locked.socks5],
] as const) {
  test(`${protocol} with a login works with it, and with no other`, async () => {
    expect(await check(protocol, ip, proxy(), 'operator:correct-horse')).toMatchObject({
      verdict: 'alive',
      exitIp: ip,
    });
    expect(await check(protocol, ip, proxy())).toEqual({ verdict: 'dead', error: 'auth_required' });
    for (const wrong of ['operator:wrong', 'else:correct-horse', 'operator:']) {
      expect(await check(protocol, ip, proxy(), wrong)).toMatchObject({ verdict: 'dead' });
    }
  });
}

test('what is sent of a login ends at the proxy', () => {
  expect(heard.length).toBeGreaterThan(10);
  expect(heard.join('\n')).not.toMatch(/proxy-authorization|correct-horse/i);
});

function check(protocol: Protocol, ip: string, { port }: RealProxy, login: string | null = null) {
  return checker.check({ protocol, ip, port, login });
}
