import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { canonicalAddress } from '../../../src/lib/address.ts';
import { judgeAnswer } from '../../../src/proxy/check/judge.ts';
import type { KeyPair } from '../certificates.ts';
import { listening, stopperOf } from '../servers/listening.ts';

/** The form of a judge's page: our own, or that of public services. */
export type JudgeFormat = 'own' | 'httpbin' | 'azenv' | 'trace' | 'address' | 'json';

export interface JudgeServerOptions {
  /** Serves HTTPS with this certificate. */
  tls?: KeyPair;
  /** Name or address in `url`; 127.0.0.1 by default. */
  host?: string;
  /** Address to listen on. */
  listen?: string;
  /** A free one by default. */
  port?: number;
  format?: JudgeFormat;
  /** What stands in the title of an azenv page: each operator has his own. */
  title?: string;
  /** Path of the page; /judge by default. */
  path?: string;
  /** The status for a client, where it should not be 200. */
  status?: (peer: string) => number;
  secret?: string;
  /** Told of each request: its path, the address that it came from, and its headers. */
  onRequest?: (path: string, peer: string, headers: Record<string, string>) => void;
  /** The address that is reported for a client, where it should not be the real one. */
  seenAs?: (peer: string) => string;
  /** What a balancer before the judge would add to every request. */
  balancer?: (peer: string) => Record<string, string>;
}

/** A judge as a real server, for `PROXY_JUDGES` and for checkers in tests. */
export async function startJudge(options: JudgeServerOptions = {}) {
  const { tls, host = '127.0.0.1', listen = '127.0.0.1', port = 0, format = 'own', secret } = options;
  const { path = '/judge' } = options;
  let answered = 0;
  const answer: RequestListener = (request, response) => {
    answered++;
    const peer = canonicalAddress(request.socket.remoteAddress ?? '') ?? '';
    options.onRequest?.(request.url ?? '/', peer, headersOf(request));
    const client = options.seenAs?.(peer) ?? peer;
    const headers = { ...headersOf(request), ...options.balancer?.(client) };
    const url = new URL(request.url ?? '/', 'http://judge');
    const status = options.status?.(peer) ?? 200;
    const asked = { url, headers, peer: client, secret, title: options.title ?? 'Environment' };
    const body = status === 200 ? PAGES[format](asked) : 'Forbidden';
    response.writeHead(status, { 'Content-Type': 'text/plain', 'Content-Length': Buffer.byteLength(body) });
    response.end(body);
  };
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  const stop = stopperOf(server);
  const bound = await listening(server, listen, port);
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${host}:${bound}${path}`,
    port: bound,
    /** Requests answered. */
    answered: () => answered,
    /** Stops listening and breaks all connections. */
    stop,
  };
}

export type JudgeServer = Awaited<ReturnType<typeof startJudge>>;

function headersOf(request: IncomingMessage): Record<string, string> {
  const entries = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  return Object.fromEntries(entries) as Record<string, string>;
}

/** What the page of a judge is made from. */
export interface Asked {
  url: URL;
  headers: Record<string, string>;
  peer: string;
  secret?: string | undefined;
  title: string;
}

/** A page of each form. */
export const PAGES: Record<JudgeFormat, (asked: Asked) => string> = {
  own: ({ url, headers, peer, secret }) =>
    JSON.stringify(judgeAnswer({ url, headers: new Headers(headers), peer, secret })),
  httpbin,
  azenv,
  trace: ({ peer, headers }) =>
    `fl=1f2\nh=${headers.host}\nip=${peer}\nts=${Date.now() / 1000}\nvisit_scheme=https\nuag=${headers['user-agent']}\n`,
  address: ({ peer }) => `${peer}\n`,
  json: ({ peer }) => JSON.stringify({ ip: peer, country: 'ZZ' }),
};

function httpbin({ url, headers, peer }: Asked): string {
  const claimed = headers['x-forwarded-for'];
  const origin = claimed === undefined ? peer : `${claimed}, ${peer}`;
  const named = Object.entries(headers).map(([name, value]) => [name.replace(/\b[a-z]/g, upperCase), value]);
  const args = Object.fromEntries(url.searchParams);
  return JSON.stringify({ args, headers: Object.fromEntries(named), origin, url: url.href }, null, 2);
}

function azenv({ url, headers, peer, title }: Asked): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `HTTP_${upperCase(name).replaceAll('-', '_')} = ${value}`,
  );
  const rest = [
    `REMOTE_ADDR = ${peer}`,
    `REQUEST_URI = ${url.pathname}${url.search}`,
    'REQUEST_METHOD = GET',
  ];
  return `<html><head><title>${title}</title></head><body><pre>\n${[...lines, ...rest].join('\n')}\n</pre></body></html>\n`;
}

function upperCase(text: string): string {
  return text.toUpperCase();
}
