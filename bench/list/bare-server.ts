/**
 * The server that lists are compared with: it answers what it reads from its standard input, and says at which port. With a log file
 * it does besides what every request is owed, in as few lines as possible: it reads the URL and the headers that decide, asks who sent
 * the request, counts it, names it in the answer, and logs it.
 *
 *     bun bench/list/bare-server.ts <headers as JSON> [log file]
 */
import { createWriteStream } from 'node:fs';

const LOG_CHARACTERS = 64 * 1024;
const CAPACITY = 1e9;

const body = await Bun.stdin.text();
const headers = new Headers(JSON.parse(process.argv[2] ?? '[]'));
const logFile = process.argv[3];
const log = logFile === undefined ? null : createWriteStream(logFile);

const tokens = new Map<string, number>();
let count = 0;
let waiting = '';

function take(peer: string): number {
  const left = (tokens.get(peer) ?? CAPACITY) - 1;
  tokens.set(peer, left);
  return left;
}

function withDuties(request: Request, server: Bun.Server<undefined>): Response {
  const startedAt = performance.now();
  const { url, method } = request;
  const path = url.slice(url.indexOf('/', 8));
  const asked = ['host', 'authorization', 'x-forwarded-for', 'if-none-match'].map((name) =>
    request.headers.get(name),
  );
  const peer = asked[2] ?? server.requestIP(request)?.address ?? '';
  const id = `request-${++count}`;
  headers.set('x-request-id', id);
  headers.set('ratelimit-remaining', String(take(peer)));
  const facts = { id, method, path, status: 200, ms: Math.round(performance.now() - startedAt), peer };
  waiting += `{"time":${Date.now()},${JSON.stringify(facts).slice(1)}\n`;
  if (waiting.length > LOG_CHARACTERS) {
    log?.write(waiting);
    waiting = '';
  }
  return new Response(body, { headers });
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: log ? withDuties : () => new Response(body, { headers }),
});
console.log(server.port);
