import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** What one client does at once, each on connections of its own that are never given up. */
export interface Greed {
  url: string;
  /** The loopback address that it comes from. */
  from: string;
  /** Connections that ask for lists, one request after the other. */
  lists: number;
  /** Silent connections. */
  idle: number;
  streams: number;
  exports: number;
  /** Connections that guess the password of `picture`. */
  guesses: number;
  picture: string;
}

/** Runs in a separate process until `stop`. Resolves once all connections are established. */
export async function startGreedyClient(greed: Greed): Promise<{ stop(): Promise<Record<string, number>> }> {
  const child: ChildProcess = spawn(
    process.execPath,
    [fileURLToPath(import.meta.url), JSON.stringify(greed)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const lines = createInterface(child.stdout ?? process.stdin)[Symbol.asyncIterator]();
  await lines.next();
  return {
    async stop() {
      child.stdin?.end();
      const { value } = await lines.next();
      await once(child, 'exit');
      return JSON.parse(value ?? '{}') as Record<string, number>;
    },
  };
}

/** Answers by their status. */
const answers: Record<string, number> = {};

function open({ url, from }: Greed, request: (() => string) | null): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), localAddress: from });
    let stands = false;
    const ask = () => request && socket.write(request());
    socket.once('connect', () => {
      stands = true;
      resolve();
      ask();
    });
    let tail = '';
    socket.on('data', (bytes) => {
      const text = tail + bytes.toString('latin1');
      for (const [, status = ''] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) {
        answers[status] = (answers[status] ?? 0) + 1;
      }
      // An answer has ended, or nearly so: a greedy client does not count bytes.
      if (
        /\r\n0\r\n\r\n$|\}$|<\/html>\s*$/.test(text) ||
        (/content-length/i.test(text) && !/chunked/i.test(text))
      ) {
        tail = '';
        ask();
      } else tail = text.slice(-12).replace('HTTP/1.1', '');
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      answers.closed = (answers.closed ?? 0) + 1;
      if (!stands) resolve();
      setTimeout(() => open({ url, from } as Greed, request), 10);
    });
  });
}

async function run(greed: Greed): Promise<void> {
  const get = (path: string) => () => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  let n = 0;
  const guess = () => `GET ${greed.picture} HTTP/1.1\r\nHost: localhost\r\nX-Image-Password: ${n++}\r\n\r\n`;
  const many = (count: number, request: (() => string) | null) =>
    Array.from({ length: count }, () => open(greed, request));
  await Promise.all([
    ...many(greed.idle, null),
    ...many(greed.lists, () => get(`/api/v1/proxies?limit=500&offset=${n++ % 1000}`)()),
    ...many(greed.streams, get('/api/refresh/events')),
    ...many(greed.exports, get('/api/export')),
    ...many(greed.guesses, guess),
  ]);
  console.log('ready');
  process.stdin.resume().on('end', () => {
    console.log(JSON.stringify(answers));
    process.exit(0);
  });
}

if (import.meta.main) await run(JSON.parse(process.argv[2] ?? '{}') as Greed);
