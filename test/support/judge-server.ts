import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { canonicalAddress } from '../../src/lib/address.ts';
import { judgeAnswer } from '../../src/proxy/check/judge.ts';
import type { KeyPair } from './certificates.ts';

export interface JudgeServerOptions {
  /** Serves HTTPS with this certificate. */
  tls?: KeyPair;
  /** Name or address in `url`; 127.0.0.1 when not given. */
  host?: string;
  /** Address to listen on. */
  listen?: string;
  /** A free one when not given. */
  port?: number;
  /** The form of the answers: our own, or that of public echo services. */
  format?: 'own' | 'httpbin' | 'azenv';
  secret?: string;
  /** Told of each request: its path, and the address that it came from. */
  onRequest?: (path: string, peer: string) => void;
  /** The address that is reported for a client, where it should not be the real one. */
  seenAs?: (peer: string) => string;
  /** What a balancer before the judge would add to every request. */
  balancer?: (peer: string) => Record<string, string>;
}

export interface JudgeServer {
  url: string;
  port: number;
  /** Requests answered. */
  answered(): number;
  /** Stops listening and breaks all connections. */
  stop(): Promise<void>;
}

/** A judge as a real server, for `PROXY_JUDGES` and for checkers in tests. */
export async function startJudge(options: JudgeServerOptions = {}): Promise<JudgeServer> {
  const { tls, host = '127.0.0.1', listen = '127.0.0.1', port = 0, format = 'own', secret } = options;
  let answered = 0;
  const answer: RequestListener = (request, response) => {
    answered++;
    const peer = canonicalAddress(request.socket.remoteAddress ?? '') ?? '';
    options.onRequest?.(request.url ?? '/', peer);
    const client = options.seenAs?.(peer) ?? peer;
    const headers = { ...headersOf(request), ...options.balancer?.(client) };
    const url = new URL(request.url ?? '/', 'http://judge');
    const body =
      format === 'own'
        ? JSON.stringify(
            judgeAnswer({
              url,
              headers: new Headers(headers),
              peer: client,
              ...(secret !== undefined && { secret }),
            }),
          )
        : format === 'httpbin'
          ? httpbin(url, headers, client)
          : azenv(url, headers, client);
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': Buffer.byteLength(body) });
    response.end(body);
  };
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, listen, 1024, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${host}:${bound}/judge`,
    port: bound,
    answered: () => answered,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const entries = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  return Object.fromEntries(entries) as Record<string, string>;
}

function httpbin(url: URL, headers: Record<string, string>, peer: string): string {
  const claimed = headers['x-forwarded-for'];
  const origin = claimed === undefined ? peer : `${claimed}, ${peer}`;
  const named = Object.entries(headers).map(([name, value]) => [name.replace(/\b[a-z]/g, upperCase), value]);
  return JSON.stringify({
    args: Object.fromEntries(url.searchParams),
    headers: Object.fromEntries(named),
    origin,
    url: url.href,
  });
}

function azenv(url: URL, headers: Record<string, string>, peer: string): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `HTTP_${upperCase(name).replaceAll('-', '_')} = ${value}`,
  );
  const rest = [
    `REMOTE_ADDR = ${peer}`,
    `REQUEST_URI = ${url.pathname}${url.search}`,
    'REQUEST_METHOD = GET',
  ];
  return `<html><head><title>Environment</title></head><body><pre>\n${[...lines, ...rest].join('\n')}\n</pre></body></html>\n`;
}

function upperCase(text: string): string {
  return text.toUpperCase();
}
