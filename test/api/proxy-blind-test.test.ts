import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import type { Checker } from '../../src/proxy/check/checker.ts';
import { createTargetLimits } from '../../src/proxy/check/target-limits.ts';
import { createCertificates } from '../support/certificates.ts';
import { localChecker } from '../support/farm/checkers.ts';
import { type JudgeServer, startJudge } from '../support/farm/judge-server.ts';
import { startUnansweredPort, type UnansweredPort } from '../support/farm/unanswered-port.ts';
import { json } from '../support/json.ts';
import { createPoolServer, type PoolServer } from '../support/pool/server.ts';
import { listening } from '../support/servers/listening.ts';
import { words } from '../support/words.ts';

const PATH = '/api/test_proxy_quick';
const ROUNDS = 20;

interface Listener {
  port: number;
  stop(): Promise<void>;
}

async function listen(onSocket: (socket: Socket) => void): Promise<Listener> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    onSocket(socket);
  });
  return {
    port: await listening(server),
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A checker that tells how many checks it has begun, and how many of them run. */
function counted(checker: Checker) {
  let begun = 0;
  let running = 0;
  return {
    ...checker,
    begun: () => begun,
    running: () => running,
    async check(...asked: Parameters<Checker['check']>) {
      begun++;
      running++;
      return checker.check(...asked).finally(() => running--);
    },
  };
}

describe('a test of an address by a stranger', () => {
  let judge: JudgeServer;
  let tlsJudge: JudgeServer;
  let unanswered: UnansweredPort;
  let listeners: Listener[];
  let ports: Record<string, number>;
  let checker: ReturnType<typeof counted>;
  let server: PoolServer;

  beforeAll(async () => {
    [judge, unanswered] = await Promise.all([startJudge(), startUnansweredPort()]);
    listeners = await Promise.all([
      listen((socket) => socket.end()),
      listen((socket) => socket.resume()),
      listen((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')),
      listen((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')),
      listen(() => {}),
    ]);
    const [open, silent, ssh, web, closed] = listeners.map(({ port }) => port) as [
      number,
      number,
      number,
      number,
      number,
    ];
    await listeners.pop()?.stop();
    ports = { open, silent, ssh, web, closed, unanswered: unanswered.port };
    const certificates = await createCertificates();
    tlsJudge = await startJudge({ tls: certificates.good });
    checker = counted(localChecker({ judges: [judge.url, tlsJudge.url], ca: certificates.ca }));
    server = await createPoolServer({ pool: { checker } });
  });
  afterAll(async () => {
    await server.close();
    checker.close();
    await Promise.all([
      judge.stop(),
      tlsJudge.stop(),
      unanswered.stop(),
      ...listeners.map((one) => one.stop()),
    ]);
  });

  test('tells closed, open, silent and speaking ports apart no better than chance in 480 tries', async () => {
    const seen = new Map<string, Set<string>>();
    const kinds = Object.entries(ports);
    for (let round = 0; round < ROUNDS; round++) {
      // Four protocols of each kind of port at once, each try by a client of its own.
      const tries = kinds.flatMap(([kind, port]) =>
        ['http', 'https', 'socks4', 'socks5'].map(async (protocol, n) => {
          const startedAt = server.clock.now();
          const from = `198.51.${n}.${kinds.findIndex(([one]) => one === kind)}`;
          const answer = await server.post(PATH, { ip: '127.0.0.1', port, protocol }, {}, from);
          const headers = [...answer.headers].filter(([name]) => name !== 'x-request-id');
          const { request_id, ...body } = await json<Record<string, unknown>>(answer);
          const told = JSON.stringify([
            answer.status,
            headers,
            body,
            server.clock.now() - startedAt,
            typeof request_id,
          ]);
          seen.set(told, (seen.get(told) ?? new Set()).add(kind));
        }),
      );
      // What can end by itself has ended: all but the silent ones.
      while (checker.begun() < 24 * (round + 1) || checker.running() > 8) await Bun.sleep(1);
      expect(seen.size).toBeLessThanOrEqual(1);
      await server.clock.advance(4999);
      await server.clock.advance(1);
      await Promise.all(tries);
    }
    expect([...seen.values()]).toEqual([new Set(Object.keys(ports))]);
    expect(JSON.parse([...seen.keys()][0] ?? '')).toMatchObject([
      200,
      expect.any(Array),
      { alive: false, error: 'not_working' },
      5000,
      'undefined',
    ]);
  });
});

describe('of tests by strangers', () => {
  const quick = (ip: string) => ({ ip, port: 8080 });

  test('three run at once for one client', async () => {
    const server = await createPoolServer();
    const ask = (from: string) => server.post(PATH, quick('192.0.2.77'), {}, from);
    const three = [1, 2, 3].map(() => ask('198.51.100.1'));
    const refused = await ask('198.51.100.1');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
    const other = ask('198.51.100.2');
    await server.clock.advance(5000);
    expect((await Promise.all([...three, other])).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const again = ask('198.51.100.1');
    await server.clock.advance(5000);
    expect((await again).status).toBe(200);
    await server.close();
  });

  test('none dials while no judge answers, so that nothing of the address shows', async () => {
    const server = await createPoolServer();
    server.network.judge = 'down';
    expect((await server.post(PATH, quick('192.0.2.77'))).status).toBe(503);
    expect(server.network.asked).toEqual([]);
    await server.close();
  });

  test('a proxy that passes is reported at once, and one that needs more than 5 s is not', async () => {
    const server = await createPoolServer();
    server.network.working.add('http://192.0.2.77:8080');
    expect(await json(await server.post(PATH, quick('192.0.2.77')))).toMatchObject({ alive: true });
    server.network.before = () => server.clock.sleep(5001);
    const slow = server.post(PATH, quick('192.0.2.77'));
    await server.clock.advance(5000);
    expect(await json(await slow)).toMatchObject({ alive: false, error: 'not_working' });
    await server.close();
  });

  test('tests of one address, of its network and of all addresses are limited, for all clients together', async () => {
    const limiter = createLocalRateLimiter({ now: () => 0 });
    const so = (capacity: number) => ({ capacity, perSecond: 0.01 });
    const countTarget = createTargetLimits({ limiter, target: so(2), network: so(3), overall: so(5) });
    const passes = (address: string) =>
      countTarget(address).then(
        () => true,
        (error: { code: string }) => error.code,
      );
    const tried = words`192.0.2.1 192.0.2.1 192.0.2.1 192.0.2.2 192.0.2.3 2001:db8::1 2001:db8:0:5::1`;
    const limited = 'rate_limited';
    expect(await Promise.all(tried.map(passes))).toEqual([true, true, limited, true, limited, true, true]);
    expect(await passes('203.0.113.1')).toBe('rate_limited');
  });
});
