import { gzipSync } from 'node:zlib';
import type { FarmClient } from './client.ts';
import { connectFrom, join } from './client.ts';
import { acceptConnect, acceptSocks5, fetchAnswer, readRequest, sendOn } from './honest.ts';
import { http, https, type Role, socks4, socks5 } from './role.ts';

const OK = 'HTTP/1.1 200 OK\r\n';

/** Waits for the request, then answers these bytes and ends. */
function answering(text: string | Buffer): Role['play'] {
  return async (client) => {
    await client.until('\r\n\r\n');
    client.socket.end(text);
  };
}

/** Answers these bytes and then nothing, without ending. */
function stalling(text: string): Role['play'] {
  return async (client) => {
    await client.until('\r\n\r\n');
    client.socket.write(text);
  };
}

function page(body: string, headers = ''): string {
  return `${OK}Content-Type: text/html\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Answers made of what the request says. */
function making(text: (target: string, client: FarmClient) => string): Role['play'] {
  return async (client) => {
    const { target } = await readRequest(client);
    client.socket.end(text(target, client));
  };
}

/** Forwards, and changes what comes back. */
function altering(change: (body: string) => string): Role['play'] {
  return async (client) => {
    client.socket.end(page(change((await fetchAnswer(client)).body)));
  };
}

/** Writes as fast as the checker takes it, as long as it stays. */
function pour({ socket }: FarmClient, piece: string): void {
  const block = piece.repeat(Math.ceil(16_384 / piece.length));
  const more = () => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on('drain', more);
  more();
}

function pouring(head: string, piece: string): Role['play'] {
  return async (client) => {
    await client.until('\r\n\r\n');
    client.socket.write(head);
    pour(client, piece);
  };
}

async function drip({ socket, until }: FarmClient): Promise<void> {
  await until('\r\n\r\n');
  socket.write(`${OK}Content-Length: 500\r\n\r\n`);
  const timer = setInterval(() => socket.write(' '), 1_000);
  socket.on('close', () => clearInterval(timer));
}

async function resetMidAnswer(client: FarmClient): Promise<void> {
  await client.until('\r\n\r\n');
  client.socket.write(`${OK}Content-Length: 500\r\n\r\n{"token"`, () => client.socket.resetAndDestroy());
}

/** The judge's answer to another request, as a cache would give it. */
async function replay(client: FarmClient): Promise<void> {
  const request = await readRequest(client);
  const stale = {
    ...request,
    target: request.target.replace(/_=.*/, '_=00000000000000000000000000000000'),
  };
  join(client, await sendOn(client, stale));
}

function forged(address: (client: FarmClient) => string): Role['play'] {
  return making((target, client) => {
    const token = new URL(target).searchParams.get('_');
    return page(JSON.stringify({ token, address: address(client), headers: {}, proof: 'x' }));
  });
}

/** A tunnel that leads to a server of the farm with a bad certificate instead. */
function diverting(name: Parameters<FarmClient['tlsPort']>[0]): Role['play'] {
  return async (client) => {
    await acceptConnect(client);
    const upstream = await connectFrom(client, '127.0.0.1', client.tlsPort(name));
    client.socket.write(`${OK}\r\n`);
    join(client, upstream);
  };
}

/** SOCKS5 as far as the reply, then these bytes. */
function replying(bytes: number[]): Role['play'] {
  return async (client) => {
    await acceptSocks5(client);
    client.socket.write(Buffer.from(bytes));
  };
}

function greeting(bytes: number[]): Role['play'] {
  return async ({ socket, take }) => {
    await take(3);
    socket.write(Buffer.from(bytes));
  };
}

function socks4Reply(code: number, version = 0): Role['play'] {
  return async ({ socket, take }) => {
    await take(9);
    socket.write(Buffer.from([version, code, 0, 0, 0, 0, 0, 0]));
  };
}

async function replyForever(client: FarmClient): Promise<void> {
  await acceptSocks5(client);
  client.socket.write(Buffer.from([5, 0, 0, 3, 255]));
  pour(client, 'a');
}

const nothing = () => {};

/** Proxies that lie, break the protocol, or never come to an end. */
export const LYING_ROLES = {
  silent: http('timeout', nothing),
  'silent https': https('timeout', nothing),
  'silent socks4': socks4('timeout', nothing),
  'silent socks5': socks5('timeout', nothing),
  'accepts, then closes': http('protocol_error', ({ socket }) => void socket.end()),
  'wrong token': http(
    'bad_answer',
    answering(page('{"token":"ffffffffffffffff","address":"127.0.0.1","headers":{}}')),
  ),
  'replayed answer': http('bad_answer', replay),
  'cached page': http(
    'bad_answer',
    answering(page('<html>Example Domain</html>', 'Age: 86400\r\nX-Cache: HIT\r\n')),
  ),
  'captive portal': http(
    'bad_answer',
    making((target) => page(`<html><a href="http://portal.test/?to=${target}">Log in</a></html>`)),
  ),
  'captive portal in JSON': http(
    'bad_answer',
    making((target) => page(JSON.stringify({ login: target }))),
  ),
  'injected script': http(
    'bad_answer',
    altering((body) => `${body}<script src="http://ads.test/a.js"></script>`),
  ),
  'altered answer': http(
    'bad_answer',
    altering((body) => body.replace('curl', 'wget')),
  ),
  'forged answer': http(
    'bad_answer',
    forged(({ dialled }) => dialled),
  ),
  'forged answer with our address': http(
    'bad_answer',
    forged(({ peer }) => peer),
  ),
  'another body': http('bad_answer', answering(page('It works!'))),
  'empty body': http('bad_answer', answering(page(''))),
  'endless headers': http('protocol_error', pouring(OK, 'X-Filler: 0123456789\r\n')),
  'endless header': http('protocol_error', pouring(`${OK}X-Filler: `, '0123456789')),
  'endless body': http('bad_answer', pouring(`${OK}\r\n`, '0123456789')),
  'endless chunks': http('bad_answer', pouring(`${OK}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n')),
  'dripping body': http('timeout', drip),
  'compressed bomb': http(
    'bad_answer',
    answering(
      Buffer.concat([
        Buffer.from(`${OK}Content-Encoding: gzip\r\nConnection: close\r\n\r\n`),
        gzipSync(Buffer.alloc(8 * 1024 * 1024)),
      ]),
    ),
  ),
  'reset in the answer': http('protocol_error', resetMidAnswer),
  garbage: http('protocol_error', answering('\x00\xff\r\n\r\n\r\n')),
  'half an answer': http('timeout', stalling(`${OK}Content-Length: 99\r\n\r\n{`)),
  'half a head': http('timeout', stalling(`${OK}Content-Le`)),
  'ends in the body': http('protocol_error', answering(`${OK}Content-Length: 99\r\n\r\n{`)),
  'wants a password': http(
    'auth_required',
    answering('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n'),
  ),
  'wants a password for CONNECT': https(
    'auth_required',
    answering('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
  ),
  redirect: http(
    'bad_answer',
    making((target) => `HTTP/1.1 302 Found\r\nLocation: ${target}\r\nContent-Length: 0\r\n\r\n`),
  ),
  'server error': http('bad_answer', answering('HTTP/1.1 502 Bad Gateway\r\n\r\n')),
  'huge length': http('bad_answer', stalling(`${OK}Content-Length: 99999999999\r\n\r\n`)),
  'negative length': http('protocol_error', stalling(`${OK}Content-Length: -1\r\n\r\n`)),
  'two lengths': http('protocol_error', stalling(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`)),
  'huge chunk': http('bad_answer', stalling(`${OK}Transfer-Encoding: chunked\r\n\r\nfffffffffff\r\n`)),
  'malformed chunk': http('protocol_error', stalling(`${OK}Transfer-Encoding: chunked\r\n\r\n-5\r\n`)),
  'answer before the request': http(
    'bad_answer',
    ({ socket }) => void socket.write(page('{"token":"","address":"127.0.0.1","headers":{}}')),
  ),
  'CONNECT, then plain text': https('protocol_error', answering(`${OK}\r\n${page('{}')}`)),
  'CONNECT, then garbage for TLS': https('tls_error', async (client) => {
    await acceptConnect(client);
    client.socket.write(`${OK}\r\n`);
    await client.take(1);
    client.socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  }),
  'CONNECT, then silence': https('timeout', stalling(`${OK}\r\n`)),
  'CONNECT refused': https('bad_answer', answering('HTTP/1.1 403 Forbidden\r\n\r\n')),
  'self-signed certificate': https('tls_error', diverting('selfSigned')),
  'certificate of another host': https('tls_error', diverting('wrongHost')),
  'expired certificate': https('tls_error', diverting('expired')),
  'socks5 of version 4': socks5('protocol_error', greeting([4, 0])),
  'socks5 that speaks HTTP': socks5(
    'protocol_error',
    greeting([...Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')]),
  ),
  'socks5 with a password': socks5('auth_required', greeting([5, 2])),
  'socks5 without a method': socks5('auth_required', greeting([5, 255])),
  'socks5 that declines': socks5('bad_answer', replying([5, 2, 0, 1, 0, 0, 0, 0, 0, 0])),
  'socks5 with an unknown address type': socks5('protocol_error', replying([5, 0, 0, 9, 0, 0, 0, 0, 0, 0])),
  'socks5 with an endless name': socks5('protocol_error', replyForever),
  'socks5, then silence': socks5('timeout', replying([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])),
  'socks4 that declines': socks4('bad_answer', socks4Reply(91)),
  'socks4 that wants an identd': socks4('auth_required', socks4Reply(93)),
  'socks4 of version 5': socks4('protocol_error', socks4Reply(90, 5)),
} satisfies Record<string, Role>;
