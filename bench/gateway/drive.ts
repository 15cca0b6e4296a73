import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext } from 'node:tls';

export interface DriveOptions {
  port: number;
  url: string;
  ca: string;
  count: number;
  /** Clients at once. */
  clients: number;
  limitMs: number;
  method?: 'GET' | 'POST';
  /** Returns the user name of the request at this place. Default: none. */
  user?: (n: number) => string;
}

export interface Driven {
  /** Share of requests that returned the target's page. */
  success: number;
  p50: number;
  p95: number;
  perSecond: number;
  /** Answers that were a proxy's own: a page, a login, a 5xx that the target never gave. */
  foreign: number;
  /** Refused by the gateway itself. */
  refused: number;
}

/** Sends requests through a proxy, from clients with one connection for each request. */
export async function drive({
  port,
  url,
  ca,
  count,
  clients,
  limitMs,
  method = 'GET',
  user,
}: DriveOptions): Promise<Driven> {
  const { protocol, host, pathname } = new URL(url);
  const context = createSecureContext({ ca: readFileSync(ca) });
  const times: number[] = [];
  let next = 0;
  let good = 0;
  let foreign = 0;
  let refused = 0;

  async function one(n: number): Promise<void> {
    const startedAt = performance.now();
    const path = `${pathname}?${n}`;
    const login = user ? `Proxy-Authorization: Basic ${btoa(`${user(n)}:`)}\r\n` : '';
    const body = method === 'POST' ? 'Content-Length: 1\r\n\r\nx' : '\r\n';
    const plain = `${method} ${protocol === 'http:' ? `http://${host}` : ''}${path} HTTP/1.1\r\nHost: ${host}\r\n${protocol === 'http:' ? login : ''}Connection: close\r\n${body}`;
    const answer = await (protocol === 'http:'
      ? talk(connect(port, '127.0.0.1'), plain, limitMs)
      : secured(port, host, { plain, login, context, limitMs }));
    if (answer.includes('server: target') || answer.includes('Server: target')) {
      good++;
      times.push(performance.now() - startedAt);
    } else if (answer.includes('X-Picpool-Error')) refused++;
    else if (answer.startsWith('HTTP/1.1') && !/^HTTP\/1.1 (200|502)/.test(answer)) foreign++;
    else if (answer.includes('Welcome to our network')) foreign++;
  }

  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < count) await one(next++);
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  times.sort((a, b) => a - b);
  const at = (share: number) => Math.round(times[Math.floor(times.length * share)] ?? Number.NaN);
  return {
    success: good / count,
    p50: at(0.5),
    p95: at(0.95),
    perSecond: Math.round(count / seconds),
    foreign,
    refused,
  };
}

/** Writes, and returns everything received until the end or the limit. */
function talk(socket: Socket, text: string, limitMs: number): Promise<string> {
  return new Promise((resolve) => {
    let heard = '';
    const done = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(heard);
    };
    const timer = setTimeout(done, limitMs);
    socket.on('data', (bytes: Buffer) => {
      heard += bytes.toString('latin1');
    });
    socket.on('error', done);
    socket.on('end', done);
    socket.on('close', done);
    socket.write(text);
  });
}

async function secured(
  port: number,
  host: string,
  {
    plain,
    login,
    context,
    limitMs,
  }: { plain: string; login: string; context: ReturnType<typeof createSecureContext>; limitMs: number },
): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const head = await new Promise<string>((resolve) => {
    const timer = setTimeout(() => resolve(''), limitMs);
    socket.once('data', (bytes: Buffer) => {
      clearTimeout(timer);
      resolve(bytes.toString('latin1'));
    });
    socket.once('close', () => {
      clearTimeout(timer);
      resolve('');
    });
    socket.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n${login}\r\n`);
  });
  if (!head.startsWith('HTTP/1.1 200') && !head.startsWith('HTTP/1.0 200')) {
    socket.destroy();
    return head;
  }
  const tls = connectTls({ socket, host: '127.0.0.1', secureContext: context });
  return talk(tls, plain, limitMs);
}
