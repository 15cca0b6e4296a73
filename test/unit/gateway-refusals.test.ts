import { expect, spyOn, test } from 'bun:test';
import { connect, createServer } from 'node:net';
import { badRequest, refusalAnswer } from '../../src/gateway/fault.ts';
import { followPool } from '../../src/gateway/follow-pool.ts';
import { type Upstream, unknownUpstream } from '../../src/gateway/upstream.ts';
import type { ProxyRecord } from '../../src/proxy/proxy.ts';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { startBanningSite } from '../support/gateway/banning-site.ts';
import { startBareGateway } from '../support/gateway/bare.ts';
import { talk } from '../support/gateway/talk.ts';
import { listening, stopperOf } from '../support/servers/listening.ts';
import { afterEachTest } from '../support/shared.ts';
import { draft } from '../support/stores/records.ts';
import { until } from '../support/stores/services.ts';

const closers = afterEachTest();

type Options = Partial<Parameters<typeof startBareGateway>[0]>;

async function startWorld(options: Options = {}) {
  const site = await startBanningSite(1, () => 200);
  const gateway = await startBareGateway({ tcp: bunTcp, proxies: [], ...options });
  closers.push(() => gateway.stop(), site.close);
  const [ip = '', port] = (site.proxies[0] ?? '').split(':');
  /** Sends a request for the page of the site; returns all that comes back. */
  const ask = async (head = `GET http://a.example:${site.ports.http}/ HTTP/1.1`, user = 'user') =>
    (
      await talk(
        gateway,
        `${head}\r\nProxy-Authorization: Basic ${btoa(`${user}:x`)}\r\nConnection: close\r\n\r\n`,
      )
    ).text;
  return { gateway, ask, first: { ip, port: Number(port), protocol: 'http' as const } };
}

const statusLine = (answer: string) => answer.split('\r\n')[0] ?? '';

test('the status line and Proxy-Status say why, in one line of printable ASCII, whatever the client has sent', () => {
  const answer = refusalAnswer(
    badRequest(`"é\r\nSet-Cookie: a=b\\ is not an option ${'x'.repeat(500)}`),
  ).toString();
  const [line = '', ...fields] = (answer.split('\r\n\r\n')[0] ?? '').split('\r\n');
  expect(line).toMatch(/^HTTP\/1\.1 400 "\?\?\?Set-Cookie: a=b\\ is not an option x+$/);
  expect(line.length).toBeLessThan(250);
  const status = fields.find((field) => field.startsWith('Proxy-Status: ')) ?? '';
  expect(status).toMatch(/^Proxy-Status: picpool; error=http_request_error; details="(?:[^"\\]|\\["\\])*"$/);
  expect(fields.filter((field) => field.startsWith('Set-Cookie'))).toEqual([]);
});

test('a user with too many connections is told the setting, and never 429, which a site would send', async () => {
  const { ask } = await startWorld({ each: 0 });
  expect(statusLine(await ask())).toBe(
    'HTTP/1.1 503 0 connections are open already, the limit of GATEWAY_CONNECTIONS.',
  );
});

test('a refusal counts as the kind of request that it answers', async () => {
  const { gateway, ask } = await startWorld({ each: 0 });
  const { mock } = spyOn(gateway.meter, 'settled');
  const heads = ['CONNECT a.example:443', 'CONNECT a.example', 'HEAD http://a.example/'];
  for (const head of heads) await ask(`${head} HTTP/1.1`);
  const kinds = mock.calls.map(([kind, outcome]) => `${kind} ${outcome}`);
  expect(kinds).toEqual(['tunnel refused', 'tunnel refused', 'plain refused']);
});

test.each([
  ['the pool', 'GET http://a.example/'],
  ['its tunnel', 'CONNECT a.example:443'],
])('a client that waits for %s is told when the gateway stops', async (_, what) => {
  const waits = Promise.withResolvers<unknown>();
  const silent = createServer(waits.resolve);
  closers.push(stopperOf(silent));
  const proxies = what.startsWith('CONNECT') ? [`127.0.0.1:${await listening(silent)}`] : [];
  const filling = () => waits.resolve(null) === undefined;
  const { gateway, ask } = await startWorld({ proxies, limits: { strict: true, filling } });
  const answer = ask(`${what} HTTP/1.1`);
  await waits.promise;
  gateway.stop();
  expect(await answer).toContain('X-Picpool-Error: unavailable');
});

test('a request waits for the first proxy while the pool is being filled', async () => {
  let filling = true;
  const { gateway, ask, first } = await startWorld({ limits: { filling: () => filling } });
  const answers = Promise.all([ask(), ask()]);
  const refused = ask(undefined, 'user-country-de');
  await until(() => gateway.open() === 3);
  gateway.engine.set({ ...unknownUpstream(first), proven: true });
  expect((await answers).map(statusLine)).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK']);
  filling = false;
  expect(statusLine(await refused)).toBe(
    'HTTP/1.1 503 None of the 1 proxies fits the options in the user name.',
  );
});

test('a request that waits for a proxy looks for it again only when there are others', async () => {
  const { gateway, ask, first } = await startWorld({ limits: { filling: () => true, timeoutMs: 1_000 } });
  gateway.engine.set({ ...unknownUpstream(first), proven: true });
  const laneOf = gateway.engine.laneOf.bind(gateway.engine);
  let looks = 0;
  gateway.engine.laneOf = (...asked) => {
    looks++;
    return laneOf(...asked);
  };
  await ask(undefined, 'user-country-de');
  expect(looks).toBeLessThan(5);
});

test('the pool counts as being filled until the gateway knows what it was filled with, and hears then what has failed, and why', async () => {
  let isFilled = false;
  const found: Upstream[] = [];
  const reported: unknown[] = [];
  const follower = followPool({
    store: {
      version: async () => `${isFilled}`,
      async *stream() {
        await Bun.sleep(100);
        if (isFilled) yield [{ ...draft(), id: 1 } as ProxyRecord];
      },
    },
    engine: { set: (upstream) => void found.push(upstream) },
    report: async (...what) => void reported.push(what),
    paid: { alive: () => [], version: () => 0, doubt() {} },
    async filling() {
      isFilled = true;
      return false;
    },
    monotonic: () => performance.now(),
    onError() {},
  });
  follower.start();
  await until(() => !follower.isFilling());
  expect(found).toHaveLength(1);
  for (const why of ['declined', 'page', 'timeout'] as const) follower.failed(found[0] as Upstream, why);
  expect(reported).toEqual([[1, 'page']]);
  await follower.stop();
});

test('nobody looks for the first proxy of a client that has left', async () => {
  let looks = 0;
  const { gateway } = await startWorld({ limits: { filling: () => ++looks > 0 } });
  const socket = connect(gateway.port, '127.0.0.1');
  socket.write('GET http://a.example/ HTTP/1.1\r\n\r\n');
  await until(() => looks > 0);
  socket.resetAndDestroy();
  await gateway.empty();
  const before = looks;
  // Long enough for several looks.
  await Bun.sleep(350);
  expect(looks - before).toBeLessThanOrEqual(1);
});

test.each([
  ['a request', 'GET http://a.example/ HTTP/1.1\r\n\r\n', '503 No proxy'],
  ['a tunnel', 'CONNECT a.example:443 HTTP/1.1\r\n\r\n', '503 No proxy'],
  ['a part of a request', 'POST http://a.example/ HTTP/1.1\r\ncontent-length: 9\r\n\r\n1', ''],
])('a client that ends after %s does not wait until the pool is filled', async (_, text, answer) => {
  let looks = 0;
  const { gateway } = await startWorld({ limits: { filling: () => ++looks > 0, timeoutMs: 60_000 } });
  const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
  let heard = '';
  socket.on('data', (data) => (heard += data));
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(text);
  await until(() => looks > 0);
  socket.end();
  await Promise.all([closed, gateway.empty()]);
  expect(heard).toContain(answer);
});

test('a request gives up waiting after its time limit, and is told that more may be found', async () => {
  const { ask } = await startWorld({ limits: { filling: () => true, timeoutMs: 200 } });
  expect(statusLine(await ask())).toContain('503 No proxy is known to work. The pool is still being filled');
  expect(statusLine(await ask('CONNECT a.example:443 HTTP/1.1'))).toContain('The pool is still being filled');
});

test('once the pool was filled, a request that no proxy suits is refused at once', async () => {
  const { ask } = await startWorld({ limits: { timeoutMs: 60_000 } });
  expect(statusLine(await ask())).toBe('HTTP/1.1 503 No proxy is known to work.');
});

test.each(['country-de', 'source-empty'])(
  'a tunnel is refused, not opened, if no proxy fits %s',
  async (option) => {
    const { ask } = await startWorld({ proxies: ['127.0.0.1:9'] });
    expect(statusLine(await ask('CONNECT a.example:443 HTTP/1.1', `user-${option}`))).toContain(
      '503 None of the 1',
    );
  },
);

test('a proxy is as anonymous as it is for requests sent like this one', async () => {
  const { gateway, ask, first } = await startWorld();
  const dead = unknownUpstream({ ...first, ip: '127.0.0.1', port: 9 });
  gateway.engine.set({ ...unknownUpstream(first), anonymity: { tunnel: 'elite', plain: 'transparent' } });
  gateway.engine.set({ ...dead, anonymity: { tunnel: 'anonymous', plain: 'elite' } });
  expect(statusLine(await ask(undefined, 'anonymity-transparent'))).toContain('200');
  expect(statusLine(await ask(undefined, 'anonymity-elite'))).toContain('502');
  const tunnelled = await ask('CONNECT a.example:443 HTTP/1.1', 'anonymity-transparent');
  expect(statusLine(tunnelled)).toContain('503 None of the 2');
});

test('a tunnel is refused, not opened, if the exit that its session is locked to opens none, or has left', async () => {
  const { gateway, ask, first } = await startWorld();
  const exit = { ...unknownUpstream(first), proven: true };
  gateway.engine.set(exit);
  const user = 'user-session-a-sesslock';
  expect(statusLine(await ask(undefined, user))).toBe('HTTP/1.1 200 OK');
  gateway.engine.set({ ...unknownUpstream({ ...first, port: 9, ip: '127.0.0.1' }), proven: true });
  for (const plain of [true, false]) {
    gateway.engine.set({ ...exit, carries: { tunnel: false, plain } });
    expect(statusLine(await ask('CONNECT a.example:443 HTTP/1.1', user))).toContain(
      '502 The exit of this session no longer works or fits',
    );
  }
});

test('a few blank lines before a request are skipped, and many are refused at once', async () => {
  const { ask, gateway } = await startWorld();
  for (const count of [5, 50, 1000])
    expect((await talk(gateway, '\r\n'.repeat(count))).text).toContain('400 Too many blank lines');
  expect(statusLine(await ask(`${'\r\n'.repeat(5)}GET http://a.example/ HTTP/1.1`))).toContain('400 ');
  expect(statusLine(await ask(`${'\r\n'.repeat(4)}GET http://a.example/ HTTP/1.1`))).toContain(
    '503 No proxy',
  );
});

const OPEN = {};
const CLOSED = { withTokens: true, verify: async () => null };
const AWAY = { withTokens: true, verify: () => Promise.reject(new Error('away')) };
const LOGIN = [5, 1, 2, 1, 1, 117, 1, 120];
const PAGE = [5, 1, 0, 1, 192, 0, 2, 1, 0, 80];
/** The end of a reply: an address without a meaning. */
const END = [0, 1, 0, 0, 0, 0, 0, 0];

test.each([
  ['a command besides CONNECT', OPEN, [5, 1, 0, 5, 3, 0, 1, 192, 0, 2, 1, 0, 80], [5, 0, 5, 7, ...END]],
  ['an unknown type of address', OPEN, [5, 1, 0, 5, 1, 0, 9, 192, 0, 2, 1, 0, 80], [5, 0, 5, 8, ...END]],
  ['an empty pool', OPEN, [...LOGIN, ...PAGE], [5, 2, 1, 0, 5, 3, ...END]],
  ['a wrong token', CLOSED, [...LOGIN, ...PAGE], [5, 2, 1, 1]],
  ['a missing token', CLOSED, [5, 1, 0, ...PAGE], [5, 255]],
  ['tokens that cannot be checked', AWAY, [...LOGIN, ...PAGE], [5, 2, 1, 0, 5, 1, ...END]],
])('SOCKS clients are told of %s', async (_, options, request, told) => {
  const { gateway } = await startWorld(options);
  const socket = connect(gateway.port, '127.0.0.1');
  const received: number[] = [];
  socket.on('data', (bytes: Buffer) => received.push(...bytes));
  socket.write(Buffer.from(request));
  await new Promise((resolve) => socket.once('close', resolve));
  expect(received).toEqual(told);
});

test('a client waits for the check of its token over SOCKS, however long it takes', async () => {
  let ahead = 0;
  const { gateway } = await startWorld({
    withTokens: true,
    monotonic: () => performance.now() + ahead,
    async verify(id) {
      const silent = talk(gateway, '');
      await until(() => gateway.open() === 2);
      ahead = 21_000;
      await silent;
      return { id, rate: null, quota: null };
    },
  });
  const { text } = await talk(gateway, String.fromCharCode(...LOGIN, 5, 1, 0, 3, 1, 97, 0, 80));
  expect([...Buffer.from(text, 'latin1')]).toEqual([5, 2, 1, 0, 5, 3, ...END]);
});
