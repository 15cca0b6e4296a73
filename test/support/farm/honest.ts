import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { judgeAnswer } from '../../../src/proxy/check/judge.ts';
import { connectFrom, type FarmClient, join } from './client.ts';
import { http, https, type Role, socks4, socks5 } from './role.ts';

interface HttpRequest {
  method: string;
  target: string;
  headers: [name: string, value: string][];
}

/** Reads the head of a request from the checker. */
export async function readRequest(client: FarmClient): Promise<HttpRequest> {
  const [line = '', ...lines] = (await client.until('\r\n\r\n')).toString('latin1').trimEnd().split('\r\n');
  const [method = '', target = ''] = line.split(' ');
  const headers = lines.map((text): [string, string] => {
    const colon = text.indexOf(':');
    return [text.slice(0, colon), text.slice(colon + 1).trim()];
  });
  return { method, target, headers };
}

/** Sends a request on to its target, with headers added, as a forwarding proxy does. */
export async function sendOn(
  client: FarmClient,
  request: HttpRequest,
  added: string[] = [],
): Promise<Socket> {
  const url = new URL(request.target);
  const upstream = await connectFrom(client, url.hostname, Number(url.port) || 80);
  const lines = [...request.headers.map(([name, value]) => `${name}: ${value}`), ...added];
  upstream.write(`${request.method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  return upstream;
}

/** The whole answer to the checker's request. */
export async function fetchWhole(client: FarmClient): Promise<Buffer> {
  return buffer(await sendOn(client, await readRequest(client)));
}

/** The judge's whole answer to the checker's request, as text. */
export async function fetchAnswer(client: FarmClient): Promise<{ head: string; body: string }> {
  const [head = '', body = ''] = (await fetchWhole(client)).toString('utf8').split('\r\n\r\n');
  return { head, body };
}

function forwarding(added: (client: FarmClient) => string[] = () => []): Role['play'] {
  return async (client) => {
    join(client, await sendOn(client, await readRequest(client), added(client)));
  };
}

/** Reads a CONNECT request and answers it; then the tunnel may begin. */
export async function acceptConnect(client: FarmClient): Promise<{ host: string; port: number }> {
  const { target } = await readRequest(client);
  const at = target.lastIndexOf(':');
  return { host: target.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(target.slice(at + 1)) };
}

async function playConnect(client: FarmClient): Promise<void> {
  const { host, port } = await acceptConnect(client);
  const upstream = await connectFrom(client, host, port);
  client.socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
  join(client, upstream);
}

async function readZeroEnded(client: FarmClient): Promise<string> {
  return (await client.until('\0')).toString('latin1').slice(0, -1);
}

/** Reads the request of SOCKS4; the reply is left to the role. */
export async function acceptSocks4(client: FarmClient): Promise<{ host: string; port: number }> {
  const request = await client.take(8);
  await readZeroEnded(client);
  const octets = [...request.subarray(4, 8)];
  const named = octets[0] === 0 && octets[1] === 0 && octets[2] === 0;
  return { host: named ? await readZeroEnded(client) : octets.join('.'), port: request.readUInt16BE(2) };
}

async function playSocks4(client: FarmClient): Promise<void> {
  const { host, port } = await acceptSocks4(client);
  const upstream = await connectFrom(client, host, port);
  client.socket.write(Buffer.from([0, 90, 0, 0, 0, 0, 0, 0]));
  join(client, upstream);
}

/** Reads greeting and request of SOCKS5; the reply is left to the role. */
export async function acceptSocks5(client: FarmClient): Promise<{ host: string; port: number }> {
  await client.take((await client.take(2))[1] ?? 0);
  client.socket.write(Buffer.from([5, 0]));
  const type = (await client.take(4))[3];
  const host =
    type === 1
      ? [...(await client.take(4))].join('.')
      : type === 4
        ? ((await client.take(16)).toString('hex').match(/.{4}/g) ?? []).join(':')
        : (await client.take((await client.take(1))[0] ?? 0)).toString('latin1');
  return { host, port: (await client.take(2)).readUInt16BE(0) };
}

function replyingSocks5(reply: number[], pieces: boolean): Role['play'] {
  return async (client) => {
    const { host, port } = await acceptSocks5(client);
    const upstream = await connectFrom(client, host, port);
    client.socket.setNoDelay(true);
    if (!pieces) client.socket.write(Buffer.from(reply));
    else {
      for (const byte of reply) {
        client.socket.write(Buffer.from([byte]));
        await new Promise((done) => setTimeout(done, 2));
      }
    }
    join(client, upstream);
  };
}

const IPV4_REPLY = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];

/** An answer in another framing, which a proxy may well choose. */
function reframed(frame: (status: string, range: string, body: string) => string): Role['play'] {
  return async (client) => {
    // Bytes as text, a character each.
    const answer = (await fetchWhole(client)).toString('latin1');
    const end = answer.indexOf('\r\n\r\n');
    const status = /^HTTP\/1\.\d (\d+ [^\r]*)/.exec(answer)?.[1] ?? '';
    const range = /\r\nContent-Range: [^\r]*/i.exec(answer.slice(0, end))?.[0] ?? '';
    client.socket.end(Buffer.from(frame(status, range, answer.slice(end + 4)), 'latin1'));
  };
}

function chunked(status: string, range: string, body: string): string {
  const pieces = body.match(/[\s\S]{1,50}/g) ?? [];
  const chunks = pieces.map((piece) => `${piece.length.toString(16)};x=1\r\n${piece}\r\n`);
  return `HTTP/1.1 ${status}${range}\r\nTransfer-Encoding: Chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`;
}

/** Plays proxy and judge in one, so that a benchmark measures the checker and not the farm. */
async function playInstant(client: FarmClient): Promise<void> {
  const { target, headers } = await readRequest(client);
  const answer = judgeAnswer({
    url: new URL(target, 'http://judge'),
    headers: new Headers(headers),
    peer: client.dialled,
  });
  const body = JSON.stringify(answer);
  client.socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}

async function playInstantSocks5(client: FarmClient): Promise<void> {
  await client.take(3);
  client.socket.write(Buffer.from([5, 0]));
  await client.take(10);
  client.socket.write(Buffer.from(IPV4_REPLY));
  await playInstant(client);
}

/** Proxies that do what they should. */
export const HONEST_ROLES = {
  http: http('alive', forwarding()),
  'http that says so': http(
    'alive',
    forwarding(() => ['Via: 1.1 farm']),
  ),
  'http that names its client': http(
    'alive',
    forwarding(({ peer }) => [`X-Forwarded-For: ${peer}`, 'Via: 1.1 farm']),
  ),
  'http that adds a header': http(
    'alive',
    forwarding(() => ['X-Tracked: 1']),
  ),
  'http in chunks': http('alive', reframed(chunked)),
  'http without a length': http(
    'alive',
    reframed((status, range, body) => `HTTP/1.0 ${status}\r\nServer: farm${range}\r\n\r\n${body}`),
  ),
  'http after an interim answer': http(
    'alive',
    reframed(
      (status, range, body) => `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 ${status}${range}\r\n\r\n${body}`,
    ),
  ),
  https: https('alive', playConnect),
  socks4: socks4('alive', playSocks4),
  socks5: socks5('alive', replyingSocks5(IPV4_REPLY, false)),
  'socks5 in pieces': socks5('alive', replyingSocks5(IPV4_REPLY, true)),
  'socks5 with a name in its reply': socks5(
    'alive',
    replyingSocks5([5, 0, 0, 3, 4, ...Buffer.from('farm'), 0, 80], false),
  ),
  'socks5 with IPv6 in its reply': socks5(
    'alive',
    replyingSocks5([5, 0, 0, 4, ...new Array<number>(18).fill(0)], false),
  ),
  'instant http': http('alive', playInstant),
  'instant socks5': socks5('alive', playInstantSocks5),
} satisfies Record<string, Role>;
