import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { runServer } from '../support/servers/running-server.ts';
import { shared } from '../support/shared.ts';

const server = shared(() => runServer({ RATE_LIMITS: 'off' }));

/** Where all answers have come and the server keeps the connection open, the test ends it after this time without a byte. */
const QUIET_MS = 300;
/** Nothing here may take longer. */
const MOST_MS = 45_000;

const statusesIn = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** Sends the bytes, and returns the statuses of the answers: as many as are expected, and what comes right behind them. */
function exchange(bytes: string | Buffer, expected: number): Promise<number[]> {
  const { hostname, port } = new URL(server.url);
  const { promise, resolve, reject } = Promise.withResolvers<number[]>();
  let text = '';
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  const late = setTimeout(() => reject(new Error(`no end of ${JSON.stringify(text)}`)), MOST_MS);
  socket.setEncoding('latin1');
  socket.on('data', (piece: string) => {
    text += piece;
    if (statusesIn(text).length >= expected) socket.setTimeout(QUIET_MS, () => socket.destroy());
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    clearTimeout(late);
    resolve(statusesIn(text));
  });
  return promise;
}

const get = (path: string, ...lines: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: localhost', ...lines, '', ''].join('\r\n');
const post = (body: string, ...lines: string[]) =>
  `${['POST /api/upload HTTP/1.1', 'Host: localhost', ...lines, ''].join('\r\n')}\r\n${body}`;
const LIVEZ = get('/livez');

/** What is sent, and the answers that are right; none: the server closes the connection. */
const CASES: readonly [string, string | Buffer, readonly number[]][] = [
  ['HTTP/1.0 without a host', 'GET /livez HTTP/1.0\r\n\r\n', [200]],
  ['HTTP/1.1 without a host', 'GET /livez HTTP/1.1\r\n\r\n', [400]],
  ['an unknown version', 'GET /livez HTTP/9.9\r\nHost: x\r\n\r\n', [505]],
  ['the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400]],
  ['the beginning of TLS', Buffer.from('16030100c8010000c403030000', 'hex'), [400]],
  ['an unknown method', 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n', []],
  ['TRACE', 'TRACE / HTTP/1.1\r\nHost: x\r\n\r\n', [405]],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', [400]],
  ['the URL of another server', 'GET http://evil.example/livez HTTP/1.1\r\nHost: x\r\n\r\n', [200]],
  ['a path without a slash', 'GET livez HTTP/1.1\r\nHost: x\r\n\r\n', [400]],
  ['a path of 100 KB', get(`/${'a'.repeat(100_000)}`), [431]],
  ['a path of 8 KB', get(`/i/${'a'.repeat(8000)}`), [404]],
  ['%00 in a path', get('/i/%00'), [404]],
  ['%00 in a query', get('/api/search?q=%00'), [200]],
  ['an escape that is none', get('/i/%zz'), [404]],
  ['bytes that are not UTF-8', get('/i/%ff%fe'), [404]],
  ['a NUL in a path', get('/i/\0'), [505]],
  ['a NUL in a header', get('/livez', 'X: a\0b'), [400]],
  ['a path that climbs', get('/../../etc/passwd'), [404]],
  ['an escaped path that climbs', get('/assets/..%2f..%2f..%2fetc%2fpasswd'), [404]],
  ['a header of 100 KB', get('/livez', `X: ${'a'.repeat(100_000)}`), [431]],
  ['10,000 headers', get('/livez', ...Array.from({ length: 10_000 }, (_, n) => `X${n}: 1`)), [431]],
  ['a folded header', get('/livez', 'X: a', ' b'), [400]],
  ['a blank before a colon', get('/livez', 'Content-Length : 5'), [400]],
  ['lines that end without CR', 'GET /livez HTTP/1.1\nHost: x\n\n', [505]],
  [
    'a length, and chunks with a second request in them',
    post(`0\r\n\r\n${LIVEZ}`, 'Content-Length: 6', 'Transfer-Encoding: chunked'),
    [400],
  ],
  [
    'two transfer codings',
    post(`0\r\n\r\n${LIVEZ}`, 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity'),
    [400],
  ],
  ['a length with a sign', post('abcde', 'Content-Length: +5'), [400]],
  ['a list of lengths', post('abcde', 'Content-Length: 5, 5'), [400]],
  ['a length of 2^64', post('abcde', 'Content-Length: 18446744073709551616'), [400]],
  ['40 GB, by its own account', post('abcde', 'Content-Length: 40000000000'), [413]],
  ['a compressed body', post('abcde', 'Content-Encoding: gzip', 'Content-Length: 5'), [415]],
  ['an unknown transfer coding', post('abcde', 'Transfer-Encoding: gzip, zip'), [400]],
  ['a chunk of no size', post('zz\r\nabc\r\n0\r\n\r\n', 'Transfer-Encoding: chunked'), [400]],
  [
    'a chunk with an extension of 200 KB',
    post(`1;${'a'.repeat(200_000)}\r\nx\r\n0\r\n\r\n`, 'Transfer-Encoding: chunked'),
    [413],
  ],
  ['Expect: 100-continue', post('abcde', 'Expect: 100-continue', 'Content-Length: 5'), [100, 415]],
  ['a GET with a body, and one behind it', `${get('/livez', 'Content-Length: 5')}abcde${LIVEZ}`, [200, 200]],
  [
    'an upgrade to WebSocket',
    get('/livez', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'),
    [200],
  ],
  ['50 requests at once', LIVEZ.repeat(50), Array.from({ length: 50 }, () => 200)],
];

test('what is odd, broken or hostile is answered clearly or cut off, and others are served meanwhile', async () => {
  const outcomes = CASES.map(
    async ([name, bytes, statuses]) => [name, await exchange(bytes, statuses.length)] as const,
  );
  expect((await server.send('/api/list')).status).toBe(200);
  expect(Object.fromEntries(await Promise.all(outcomes))).toEqual(
    Object.fromEntries(CASES.map(([name, , statuses]) => [name, [...statuses]])),
  );
});
