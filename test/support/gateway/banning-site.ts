import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { connect as startTls } from 'node:tls';
import { createCertificates } from '../certificates.ts';
import { listening } from '../servers/listening.ts';

/** Working proxies that each leave from an address of their own, and a site that sees it. */
export interface BanningSite {
  /** `ip:port` of the proxies; the addresses are their exits. */
  proxies: string[];
  ports: { http: number; https: number };
  ca: string;
  /** Exits that have reached the site, in order. */
  seen: string[];
  close(): void;
}

/** `statusFor`: what the site answers an exit, 0 for nothing. */
export async function startBanningSite(
  count: number,
  statusFor: (exit: string, path: string) => number,
): Promise<BanningSite> {
  const certificates = await createCertificates();
  const sockets = new Set<Socket>();
  const seen: string[] = [];
  const answer: RequestListener = (request, response) => {
    const exit = request.socket.remoteAddress ?? '';
    seen.push(exit);
    const status = statusFor(exit, request.url ?? '');
    if (status > 0) response.writeHead(status, { connection: 'close' }).end(exit);
  };
  const http = createHttpServer(answer);
  const https = createHttpsServer(certificates.good, answer);
  const farm = createServer((client) => {
    let head = '';
    const onData = (bytes: Buffer) => {
      head += bytes.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      client.off('data', onData);
      client.pause();
      const [method = '', target = ''] = head.split(' ');
      const isTunnel = method === 'CONNECT';
      const url = new URL(isTunnel ? `http://${target}` : target);
      const localAddress = client.localAddress ?? '';
      const far = connect({ host: '127.0.0.1', port: Number(url.port), localAddress }, () => {
        if (isTunnel) client.write('HTTP/1.1 200 OK\r\n\r\n');
        else far.write(head.replace(target, url.pathname + url.search), 'latin1');
        client.pipe(far).pipe(client);
      });
      for (const [one, other] of [
        [client, far],
        [far, client],
      ] as const)
        one.on('error', () => {}).on('close', () => other.destroy());
    };
    sockets.add(client.on('data', onData).on('error', () => {}));
  });
  const servers: Server[] = [http, https, farm];
  const [httpPort, httpsPort, farmPort] = await Promise.all(
    servers.map((server) => listening(server, '0.0.0.0')),
  );
  return {
    proxies: Array.from(
      { length: count },
      (_, index) => `127.41.${index >> 8}.${(index & 255) + 1}:${farmPort}`,
    ),
    ports: { http: httpPort ?? 0, https: httpsPort ?? 0 },
    ca: certificates.ca,
    seen,
    close() {
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
    },
  };
}

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
