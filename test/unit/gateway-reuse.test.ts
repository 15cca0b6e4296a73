import { describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { IDLE_MS, Idle } from '../../src/gateway/idle.ts';
import { unknownUpstream } from '../../src/gateway/upstream.ts';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { nodeTcp } from '../../src/runtime/node-tcp.ts';
import type { TcpSocket } from '../../src/runtime/tcp.ts';
import { type BareOptions, startBareGateway } from '../support/gateway/bare.ts';
import { silent } from '../support/gateway/silent.ts';
import { talk } from '../support/gateway/talk.ts';
import { listening, stopperOf } from '../support/servers/listening.ts';
import { afterEachTest } from '../support/shared.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

const closers = afterEachTest();

interface Heard {
  /** Which connection of the proxy, counted from 0. */
  connection: number;
  line: string;
}

/** A gateway over one proxy that answers each request as told; `null` ends the connection without an answer. */
async function createWorld(
  tcp: typeof bunTcp,
  answer: (heard: Heard, nthOfConnection: number) => string | null,
  options: Pick<BareOptions, 'limits' | 'verify' | 'withTokens'> = {},
) {
  const heard: Heard[] = [];
  let connections = 0;
  const proxy = createServer((socket) => {
    const connection = connections++;
    let count = 0;
    socket.on('data', (bytes: Buffer) => {
      const one = { connection, line: bytes.toString().split('\r\n')[0] ?? '' };
      heard.push(one);
      const text = answer(one, count++);
      if (text === null) socket.end();
      // One that answered all URLs alike would be asked whether it is a portal.
      else socket.write(text.replace('\r\n', `\r\nETag: "${heard.length}"\r\n`));
    });
  });
  const proxies = [`127.0.0.1:${await listening(proxy)}`];
  const gateway = await startBareGateway({ tcp, proxies, ...options });
  closers.push(() => gateway.stop(), stopperOf(proxy));
  const ask = async (request: string) => (await talk(gateway, request)).text;
  return { heard, ask, gateway };
}

const get = (url: string, ...more: string[]) =>
  `GET ${url} HTTP/1.1\r\n${['Host: x', 'Connection: close', ...more].join('\r\n')}\r\n\r\n`;
const connectionsOf = (heard: readonly Heard[]) => heard.map(({ connection }) => connection);

describe.each([
  ['Bun', bunTcp],
  ['node:net', nodeTcp],
] as const)('over the sockets of %s', (_, tcp) => {
  test('a connection to a proxy is reused only for the same target', async () => {
    const { heard, ask } = await createWorld(tcp, () => OK);
    for (const url of [
      'http://a.example/1',
      'http://a.example/2',
      'http://b.example/3',
      'http://a.example:8080/4',
    ])
      expect(await ask(get(url))).toEndWith('\r\n\r\nok');
    expect(connectionsOf(heard)).toEqual([0, 0, 1, 2]);
  });

  test.each([
    ['had ended', null],
    ['was about to be ended', 'HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n'],
  ])('a GET whose connection %s is asked again over a new one', async (_, last) => {
    const { heard, ask } = await createWorld(tcp, ({ connection }, nth) =>
      connection === 0 && nth === 1 ? last : OK,
    );
    expect(await ask(get('http://a.example/1'))).toEndWith('ok');
    expect(await ask(get('http://a.example/2'))).toEndWith('ok');
    expect(heard.map(({ connection, line }) => [connection, line.split(' ')[1]])).toEqual([
      [0, 'http://a.example/1'],
      [0, 'http://a.example/2'],
      [1, 'http://a.example/2'],
    ]);
  });

  test('a connection is used once if the request has credentials or is of HTTP/1.0, or the response is ambiguous', async () => {
    const answers: Record<string, string> = {
      surplus: `${OK}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged`,
      closing: 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok',
      old: 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
      login: 'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: NTLM\r\nContent-Length: 2\r\n\r\nok',
    };
    const { heard, ask } = await createWorld(
      tcp,
      ({ line }) => answers[/example\/(\w+)/.exec(line)?.[1] ?? ''] ?? OK,
    );
    for (const path of Object.keys(answers))
      expect(await ask(get(`http://a.example/${path}`))).toEndWith('ok');
    expect(await ask(get('http://a.example/personal', 'Authorization: Basic YTpi'))).toEndWith('ok');
    // It goes on as HTTP/1.0, with `Connection: close`.
    expect(await ask(get('http://a.example/past').replace('HTTP/1.1', 'HTTP/1.0'))).toEndWith('ok');
    expect(await ask(get('http://a.example/last'))).toEndWith('ok');
    expect(connectionsOf(heard)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  test('what a client sends after an answer that said it would be the last is not asked for', async () => {
    const { heard, gateway } = await createWorld(tcp, ({ line }) =>
      line.startsWith('POST') ? 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no' : line === 'body' ? 'k' : OK,
    );
    const socket = connect(gateway.port, '127.0.0.1');
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      // The answer has begun before the request is whole; its end comes after that of the request.
      if (text === '') socket.write('bodyGET http://a.example/2 HTTP/1.1\r\nHost: x\r\n\r\n');
      text += bytes.toString();
    });
    socket.write('POST http://a.example/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n');
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n.*Connection: close\r\n.*\r\n\r\nok$/s);
    expect(heard.map(({ line }) => line)).toEqual(['POST http://a.example/1 HTTP/1.1', 'body']);
  });

  test('a busy tunnel is closed at the end of its lifetime', async () => {
    const { gateway } = await createWorld(
      tcp,
      ({ line }) => (line.startsWith('CONNECT') ? 'HTTP/1.1 200 OK\r\n\r\n' : 'pong'),
      { limits: { lifetimeMs: 600 } },
    );
    const startedAt = performance.now();
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('data', () => setTimeout(() => socket.write('ping'), 20));
    socket.write('CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => socket.on('close', resolve));
    expect(performance.now() - startedAt).toBeGreaterThan(500);
    expect(gateway.meter.summary()).toMatchObject({ served: 1 });
  });

  test.each([
    // Only a broken connection shows a client that a part is missing.
    ['stalls', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart', /part$/, 'ECONNRESET'],
    [
      'never begins',
      'POST',
      '',
      /^HTTP\/1\.1 502 The proxy failed [^\r]+\r\nX-Picpool-Error: maybe_sent\r\n/,
      'FIN',
    ],
  ])(
    'a response that %s is given up after the time for idle tunnels',
    async (_, method, answer, expected, end) => {
      const { gateway } = await createWorld(tcp, () => answer, { limits: { idleMs: 100 } });
      const request = get('http://a.example/', 'Content-Length: 0').replace('GET', method);
      expect(await talk(gateway, request)).toEqual({ text: expect.stringMatching(expected), end });
    },
  );

  test('a login that cannot be looked up is refused for the moment, and does not end the process', async () => {
    const { ask } = await createWorld(tcp, () => OK, {
      withTokens: true,
      verify: () => Promise.reject(new Error('store away')),
    });
    const login = `Proxy-Authorization: Basic ${btoa('user:picpool_secret')}`;
    const answer = await ask(get('http://a.example/1', login));
    expect(answer).toStartWith(
      'HTTP/1.1 503 Tokens cannot be checked at the moment; try again later.\r\nX-Picpool-Error: unavailable\r\n',
    );
    expect(await ask(get('http://a.example/2'))).toStartWith('HTTP/1.1 407');
  });
});

test('of the connections that many requests at once have left, those stay open that are still used', () => {
  let now = 0;
  let open = 0;
  const idle = new Idle(() => now);
  const upstream = unknownUpstream({ protocol: 'http', ip: '192.0.2.1', port: 80 });
  const target = { host: 'a.example', address: null, port: 80 };
  const put = (socket: TcpSocket) => idle.put(upstream, target, socket);
  for (; open < 20; open++) put(silent({ destroy: () => void open-- }));
  for (; now < 10_000; now += 200) {
    const socket = idle.take(upstream, target);
    if (socket) put(socket);
    idle.close(now - IDLE_MS);
  }
  expect(open).toBe(1);
});
