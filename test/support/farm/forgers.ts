import { buffer } from 'node:stream/consumers';
import { connectFrom, type FarmClient, join } from './client.ts';
import { acceptConnect, acceptSocks4, acceptSocks5, fetchWhole, readRequest, sendOn } from './honest.ts';
import { PAGES } from './judge-server.ts';
import { http, https, type Role, socks4, socks5 } from './role.ts';

type HttpRequest = Awaited<ReturnType<typeof readRequest>>;
/** Makes up a judge's page from nothing but the request and the address that the proxy claims to be. */
type Forge = (request: HttpRequest, address: string) => string;

const urlOf = ({ target }: HttpRequest) => new URL(target, 'http://judge');

const TITLE = 'AZ Environment variables 1.04';

/** As a judge writes it, with a secret that the checker does not have. */
const likeJudge =
  (format: 'own' | 'azenv'): Forge =>
  (request, peer) => {
    const headers = Object.fromEntries(request.headers.map(([name, value]) => [name.toLowerCase(), value]));
    return PAGES[format]({ url: urlOf(request), headers, peer, secret: 'a guess', title: TITLE });
  };
const [ours, azenv] = [likeJudge('own'), likeJudge('azenv')];

/** httpbin's form; httpbingo gives a list for every header. */
function httpbin(list: boolean): Forge {
  return (request, origin) => {
    const url = urlOf(request);
    const shown = request.headers.map(([name, value]) => [name, list ? [value] : value]);
    const args = Object.fromEntries(url.searchParams);
    return JSON.stringify({ args, headers: Object.fromEntries(shown), origin, url: url.href }, null, 2);
  };
}

/** What the page's path is that of, as a forger would guess. */
const guess: Forge = (request, address) => {
  const path = urlOf(request).pathname;
  const forge = /azenv|\.php$/.test(path) ? azenv : /^\/(get|anything)/.test(path) ? httpbin(false) : ours;
  return forge(request, address);
};

function page(body: string): string {
  return `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Opens the tunnel, or nothing for a proxy that is asked by whole requests. Answers what is behind it. */
type Accept = (client: FarmClient) => Promise<{ host: string; port: number }>;

const ACCEPT: Record<Exclude<Role['protocol'], 'http'>, Accept> = {
  async https(client) {
    const place = await acceptConnect(client);
    client.socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    return place;
  },
  async socks4(client) {
    const place = await acceptSocks4(client);
    client.socket.write(Buffer.from([0, 90, 0, 0, 0, 0, 0, 0]));
    return place;
  },
  async socks5(client) {
    const place = await acceptSocks5(client);
    client.socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
    return place;
  },
};

/** Answers every question itself. */
function imitating(forge: Forge): Role['play'] {
  return async (client) => {
    client.socket.end(page(forge(await readRequest(client), client.dialled)));
  };
}

const isForPart = ({ headers }: HttpRequest) => headers.some(([name]) => name.toLowerCase() === 'range');

/** Relays whatever is not a question to a judge. */
async function relayAllButJudges(client: FarmClient): Promise<void> {
  const request = await readRequest(client);
  if (isForPart(request)) join(client, await sendOn(client, request));
  else client.socket.end(page(guess(request, client.dialled)));
}

/** Asks the judges as it should, and makes up the rest. */
async function relayJudgesAlone(client: FarmClient): Promise<void> {
  const request = await readRequest(client);
  if (!isForPart(request)) return join(client, await sendOn(client, request));
  const range = request.headers.find(([name]) => name.toLowerCase() === 'range')?.[1] ?? '';
  const [, from = 0, to = 0] = (/bytes=(\d+)-(\d+)/.exec(range) ?? []).map(Number);
  client.socket.write(
    `HTTP/1.1 206 Partial Content\r\nContent-Range: bytes ${from}-${to}/4194304\r\nContent-Length: ${to - from + 1}\r\n\r\n`,
  );
  client.socket.end(Buffer.alloc(to - from + 1, 'x'));
}

/** Relays, and changes one byte of each answer. */
async function alterEverything(client: FarmClient): Promise<void> {
  const answer = await fetchWhole(client);
  const last = answer.length - 1;
  answer[last] = (answer[last] ?? 0) ^ 1;
  client.socket.end(answer);
}

/** Gives the first answer that it ever got from a host, for ever, but with the token of the request. */
function replaying(): Role['play'] {
  const kept = new Map<string, Buffer>();
  return async (client) => {
    const request = await readRequest(client);
    const key = `${new URL(request.target).host} ${isForPart(request)}`;
    const old = kept.get(key);
    if (old) return void client.socket.end(old);
    // The one who paid for it gets nothing, so that every check meets the copy.
    kept.set(key, await buffer(await sendOn(client, request)));
    client.socket.destroy();
  };
}

/** A tunnel in which the judge's page is made up, without TLS. */
function tunnelling(protocol: keyof typeof ACCEPT, forge: Forge): Role['play'] {
  return async (client) => {
    await ACCEPT[protocol](client);
    // A judge without TLS is asked by text; the first byte of TLS is no letter.
    const [first = 0] = await client.take(1);
    if (first !== 'G'.charCodeAt(0)) return void client.socket.end(page(guess(NOTHING, client.dialled)));
    client.socket.end(page(forge(await readRequest(client), client.dialled)));
  };
}

const NOTHING: HttpRequest = { method: 'GET', target: '/', headers: [] };

/** Leads questions to a page of its own, with a certificate that it made itself. */
function divertingJudges(protocol: keyof typeof ACCEPT): Role['play'] {
  return async (client) => {
    await ACCEPT[protocol](client);
    join(client, await connectFrom(client, '127.0.0.1', client.tlsPort('selfSigned')));
  };
}

/** A tunnel that changes a bit of what comes back. */
function alteringTunnel(protocol: keyof typeof ACCEPT): Role['play'] {
  return async (client) => {
    const { host, port } = await ACCEPT[protocol](client);
    const upstream = await connectFrom(client, host, port);
    client.release();
    client.socket.pipe(upstream);
    upstream.once('data', (chunk: Buffer) => {
      chunk[0] = (chunk[0] ?? 0) ^ 0x20;
      client.socket.write(chunk);
      upstream.pipe(client.socket);
    });
  };
}

/** Carries plain text alone. */
function withoutTls(protocol: keyof typeof ACCEPT): Role['play'] {
  return async (client) => {
    const { host, port } = await ACCEPT[protocol](client);
    const [first = 0] = await client.take(1);
    if (first === 22) return void client.socket.end();
    const upstream = await connectFrom(client, host, port);
    upstream.write(Buffer.from([first]));
    join(client, upstream);
  };
}

/** Proxies that make up what they should bring. */
export const FORGING_ROLES = {
  'imitates azenv': http('bad_answer', imitating(azenv)),
  'imitates httpbin': http('bad_answer', imitating(httpbin(false))),
  'imitates httpbingo': http('bad_answer', imitating(httpbin(true))),
  'imitates our judge': http('bad_answer', imitating(ours)),
  'imitates by the path': http('bad_answer', imitating(guess)),
  'relays all but judges': http('bad_answer', relayAllButJudges),
  'relays judges alone': http('alive', relayJudgesAlone),
  'alters a byte of everything': http('bad_answer', alterEverything),
  'replays what it once got': http('protocol_error', replaying()),
  'imitates azenv in SOCKS4': socks4('tls_error', tunnelling('socks4', azenv)),
  'imitates httpbin in SOCKS5': socks5('tls_error', tunnelling('socks5', httpbin(false))),
  'imitates our judge in CONNECT': https('tls_error', tunnelling('https', ours)),
  'diverts judges in SOCKS4': socks4('tls_error', divertingJudges('socks4')),
  'diverts judges in SOCKS5': socks5('tls_error', divertingJudges('socks5')),
  'diverts judges in CONNECT': https('tls_error', divertingJudges('https')),
  'alters a bit in SOCKS4': socks4('tls_error', alteringTunnel('socks4')),
  'alters a bit in SOCKS5': socks5('tls_error', alteringTunnel('socks5')),
  'alters a bit in CONNECT': https('tls_error', alteringTunnel('https')),
  'SOCKS4 without TLS': socks4('tls_error', withoutTls('socks4')),
  'SOCKS5 without TLS': socks5('tls_error', withoutTls('socks5')),
} satisfies Record<string, Role>;
