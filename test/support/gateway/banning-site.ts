import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:net';
import { connect as startTls } from 'node:tls';
import { createCertificates } from '../certificates.ts';
import { listening, stopperOf } from '../servers/listening.ts';
import { startGatewayFarm } from './farm.ts';

/** `statusFor`: what the site answers an exit, 0 for nothing; if negative, only the beginning of such an answer. */
export async function startBanningSite(count: number, statusFor: (exit: string, path: string) => number) {
  const certificates = await createCertificates();
  const seen: string[] = [];
  const answer: RequestListener = (request, response) => {
    const exit = exitOf(request.socket.remotePort);
    seen.push(exit);
    const status = statusFor(exit, request.url ?? '');
    if (status > 0) response.writeHead(status, { connection: 'close' }).end(exit);
    if (status < 0) response.writeHead(-status, { 'content-length': 1_000 }).write(exit);
  };
  const http = createHttpServer(answer);
  const https = createHttpsServer(certificates.good, answer);
  const farm = startGatewayFarm(() => 'http');
  const exitOf = (port = 0) => farm.exitOf(port) ?? '';
  const stops = [stopperOf(http), stopperOf(https), farm.stop];
  const [httpPort, httpsPort] = await Promise.all([listening(http), listening(https)]);
  return {
    /** `ip:port` of the proxies; the addresses are their exits. */
    proxies: Array.from(
      { length: count },
      (_, index) => `127.41.${index >> 8}.${(index & 255) + 1}:${farm.port}`,
    ),
    ports: { http: httpPort, https: httpsPort },
    ca: certificates.ca,
    /** Exits that have reached the site, in order. */
    seen,
    exitOf,
    close() {
      for (const stop of stops) stop();
    },
  };
}

/** Working proxies that each leave from an address of their own, and a site that sees it. */
type BanningSite = Awaited<ReturnType<typeof startBanningSite>>;

/** What an exit got: `exit` is the address that the site saw. */
export interface Answer {
  status: number;
  exit: string;
  head: string;
}

interface World {
  gateway: { readonly port: number };
  site: Pick<BanningSite, 'ports' | 'ca'>;
}

const loginOf = (user: string) => (user === '' ? '' : `Proxy-Authorization: Basic ${btoa(user)}\r\n`);

/** Sends a request over plain http; `user`: with its token as the password. */
export function ask(
  { gateway, site }: World,
  { user = '', path = '/', method = 'GET' } = {},
): Promise<Answer> {
  return read(connect(gateway.port, '127.0.0.1'), (say) =>
    say(
      `${method} http://shop.example:${site.ports.http}${path} HTTP/1.1\r\n${loginOf(user)}Connection: close\r\n\r\n`,
    ),
  );
}

/** Sends a GET over https. */
export async function askSecurely({ gateway, site }: World, user = ''): Promise<Answer> {
  const socket = connect(gateway.port, '127.0.0.1');
  socket.write(`CONNECT shop.example:${site.ports.https} HTTP/1.1\r\n${loginOf(user)}\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  return read(startTls({ socket, ca: site.ca, servername: 'example.com' }), (say) =>
    say('GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n'),
  );
}

type Stream = Pick<ReturnType<typeof connect>, 'on' | 'write'>;

function read(socket: Stream, begin: (say: (text: string) => void) => void): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
    });
    socket.on('error', reject);
    socket.on('close', () => {
      const [head = '', body = ''] = text.split('\r\n\r\n');
      const [exit = ''] = /127\.41\.\d+\.\d+/.exec(body) ?? [];
      resolve({ status: Number(head.split(' ')[1]), exit, head });
    });
    begin((said) => socket.write(said));
  });
}
