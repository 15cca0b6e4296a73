import assert from 'node:assert/strict';
import type { Checker } from '../../../src/proxy/check/checker.ts';
import { lazySecureContext } from '../../../src/proxy/check/exchange.ts';
import { isRefused } from '../../../src/proxy/check/policy.ts';
import type { Tcp } from '../../../src/runtime/tcp.ts';
import { dialByName } from '../../../src/start/dial-by-name.ts';
import { createCertificates } from '../certificates.ts';
import { localChecker } from './checkers.ts';
import { startJudge } from './judge-server.ts';
import { startPaidProxy } from './paid-proxy.ts';

const SECRET = 'shared by checker and judge';
const LOGIN = 'me:secret';
const PLACE = { protocol: 'https', ip: 'paid.judge.test', login: LOGIN } as const;

export async function openPaidWorld() {
  const certificates = await createCertificates();
  const exits = { [LOGIN]: '127.9.1.1', 'other:secret': '127.9.1.2' };
  const proxies = {
    plain: await startPaidProxy({ exits }),
    tls: await startPaidProxy({ exits, tls: certificates.good }),
    wrong: await startPaidProxy({ exits, tls: certificates.wrongHost }),
  };
  const judges = [
    await startJudge({ secret: SECRET }),
    await startJudge({ secret: SECRET, tls: certificates.good, host: 'localhost' }),
  ];
  const checkers: Checker[] = [];
  return {
    certificates,
    judges,
    /** Without TLS, with it, and with a certificate for another name. */
    proxies,
    checker(resolve: (host: string) => Promise<string[]>, allowPrivate: boolean = true) {
      const urls = judges.map(({ url }) => url);
      const rest = { ca: certificates.ca, secrets: () => [SECRET], resolve, allowPrivate };
      const checker = localChecker({ judges: urls, ...rest, timeoutMs: 5_000 });
      checkers.push(checker);
      return checker;
    },
    close() {
      for (const checker of checkers) checker.close();
      for (const proxy of Object.values(proxies)) proxy.stop();
      for (const judge of judges) void judge.stop();
    },
  };
}

type PaidWorld = Awaited<ReturnType<typeof openPaidWorld>>;

const here = async () => ['127.0.0.1'];

/** What must hold for paid upstreams, on every runtime. */
export function paidCases(
  tcps: Readonly<Record<string, Tcp>>,
): [string, (world: PaidWorld) => Promise<void>][] {
  const dials = Object.entries(tcps).flatMap(([runtime, tcp]) =>
    DIALS.map(([name, run]): [string, (world: PaidWorld) => Promise<void>] => [
      `${name} over ${runtime}`,
      (world) => run(world, tcp),
    ]),
  );
  return [...CHECKS, ...dials];
}

const CHECKS: [string, (world: PaidWorld) => Promise<void>][] = [
  [
    'a proxy is checked by its name, with TLS to it and without, and each login has its exit',
    async ({ proxies, checker }) => {
      const { check } = checker(here);
      for (const protocol of ['http', 'https'] as const) {
        for (const [login, exit] of [
          [LOGIN, '127.9.1.1'],
          ['other:secret', '127.9.1.2'],
        ]) {
          const place = { protocol, ip: 'paid.judge.test', login: login ?? '' };
          const plain = await check({ ...place, port: proxies.plain.port });
          assert.equal(plain.verdict === 'alive' && plain.exitIp, exit);
          const secured = await check({ ...place, port: proxies.tls.port, tls: 'paid.judge.test' });
          assert.equal(secured.verdict === 'alive' && secured.exitIp, exit);
        }
      }
    },
  ],
  [
    'a proxy whose certificate is for another name fails its check, before it learns the login',
    async ({ proxies, checker }) => {
      const result = await checker(here).check({ ...PLACE, tls: PLACE.ip, port: proxies.wrong.port });
      assert.deepEqual(result, { verdict: 'dead', error: 'tls_error' });
    },
  ],
  [
    'a name with a private address is never dialled, one that is unknown is unreachable, and a silent name server says nothing',
    async ({ proxies, checker }) => {
      const place = { ...PLACE, port: proxies.plain.port };
      const before = proxies.plain.dialled();
      const strict = checker(here, false);
      assert.deepEqual(await strict.check(place), { verdict: 'dead', error: 'refused_address' });
      const failing = (code: string) => checker(() => Promise.reject(Object.assign(new Error(), { code })));
      assert.deepEqual(await failing('ENOTFOUND').check(place), { verdict: 'dead', error: 'unreachable' });
      assert.equal((await failing('ETIMEOUT').check(place)).verdict, 'unknown');
      assert.equal(proxies.plain.dialled(), before);
    },
  ],
];

/** Dials by name; answers what was heard. */
function dial(
  tcp: Tcp,
  place: { port: number; tls?: string; resolve: () => Promise<{ address: string }[]>; only?: string },
  ca: string,
): Promise<string> {
  const { port, tls, resolve, only } = place;
  const byName = dialByName(tcp, {
    isRefused: ({ ip, port }) =>
      (only !== undefined && ip !== only) || isRefused({ ip, port }, { allowPrivate: true, own: new Set() }),
    context: lazySecureContext(ca),
    resolve,
  });
  return new Promise((done) => {
    let heard = '';
    const socket = byName.dial(
      'paid.judge.test',
      port,
      {
        opened: () => void socket.write(Buffer.from('CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n')),
        received: (bytes) => {
          heard += Buffer.from(bytes).toString();
        },
        drained() {},
        ended: () => socket.end(),
        closed: (fault) => done(heard.split('\r\n')[0] || `closed ${fault}`),
      },
      { tls },
    );
  });
}

const DIALS: [string, (world: PaidWorld, tcp: Tcp) => Promise<void>][] = [
  [
    'the gateway dials a name, with TLS and without, and refuses a certificate for another one',
    async ({ proxies, certificates: { ca } }, tcp) => {
      const resolve = async () => [{ address: '127.0.0.1' }];
      const tls = 'paid.judge.test';
      const answer = 'HTTP/1.1 407 Proxy Authentication Required';
      assert.equal(await dial(tcp, { port: proxies.plain.port, resolve }, ca), answer);
      assert.equal(await dial(tcp, { port: proxies.tls.port, tls, resolve }, ca), answer);
      assert.match(await dial(tcp, { port: proxies.wrong.port, tls, resolve }, ca), /^closed ERR_TLS_CERT/);
    },
  ],
  [
    'the gateway looks a name up at each dial, judges all its addresses, and dials the one it has judged',
    async ({ proxies, certificates: { ca } }, tcp) => {
      const { port } = proxies.plain;
      const before = proxies.plain.dialled();
      const answers = ['127.0.0.9', '127.0.0.1', '::ffff:127.0.0.1', '10.0.0.1'];
      let asked = 0;
      const rebound = async () => answers.slice(0, ++asked).map((address) => ({ address }));
      const dialledTo: string[] = [];
      const watched: Tcp = {
        ...tcp,
        dial(_name, _port, listener, options) {
          options?.lookup?.('', {}, (error, address) => {
            if (error === null) dialledTo.push(String(address));
            listener.closed('ECONNREFUSED');
          });
          return { peer: '', listener, write: () => true, pause() {}, resume() {}, end() {}, destroy() {} };
        },
      };
      const place = { port, resolve: rebound, only: '127.0.0.9' };
      for (let n = 0; n < 4; n++) assert.match(await dial(watched, place, ca), /^closed/);
      assert.deepEqual([asked, dialledTo], [4, ['127.0.0.9']]);
      assert.equal(proxies.plain.dialled(), before);
    },
  ],
];
