import { createServer, type RequestListener, request as sendOn } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import type { KeyPair } from '../certificates.ts';
import { listening, stopperOf } from '../servers/listening.ts';

interface PaidProxyOptions {
  /** The address of this machine from which each `user:password` leaves. */
  exits: Readonly<Record<string, string>>;
  /** The proxy itself speaks TLS. */
  tls?: KeyPair;
  /** Address to listen on. */
  listen?: string;
}

/** An HTTP proxy as it is sold: one name and port, where the login decides on the exit. Every name is this machine. */
export async function startPaidProxy({ exits, tls, listen = '127.0.0.1' }: PaidProxyOptions) {
  let dialled = 0;
  const exitOf = (header: string | undefined) =>
    exits[Buffer.from(header?.replace(/^Basic /, '') ?? '', 'base64').toString()];

  const forward: RequestListener = (request, response) => {
    const localAddress = exitOf(request.headers['proxy-authorization']);
    if (localAddress === undefined) return void response.writeHead(407).end();
    const { pathname, search, port } = new URL(request.url ?? '');
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const place = { host: '127.0.0.1', port: port || 80, localAddress };
    const onward = sendOn(
      { ...place, path: `${pathname}${search}`, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  };
  const server = tls ? createTlsServer(tls, forward) : createServer(forward);
  const stop = stopperOf(server);
  server.on('connection', () => void dialled++);
  server.on('connect', ({ headers, url = '' }, socket, head) => {
    socket.on('error', () => {});
    const localAddress = exitOf(headers['proxy-authorization']);
    if (localAddress === undefined)
      return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const onward = connect({ host: '127.0.0.1', port: Number(url.split(':').at(-1)), localAddress });
    onward.on('error', () => socket.destroy());
    onward.on('connect', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
  });
  return {
    port: await listening(server, listen),
    /** Connections so far. */
    dialled: () => dialled,
    stop,
  };
}

export type PaidProxy = Awaited<ReturnType<typeof startPaidProxy>>;
