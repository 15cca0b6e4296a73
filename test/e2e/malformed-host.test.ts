import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { logInto, startServer, startWaiting } from '../support/servers/server-process.ts';
import { withFolder } from '../support/temporary.ts';

/** What no host is called, and how a request may name two. */
const MALFORMED = [
  'Host: a b',
  'Host: [::1',
  'Host: a:99999',
  'Host: a:80:90',
  'Host: %00',
  'Host:',
  'Host: a/b',
  'Host: a?b',
  'Host: user@a',
  'Host: <a>',
  'Host: 256.1.1.1',
  'Host: a\r\nHost: b',
  'Host: a\r\nHost: a',
];
const WELL_FORMED = ['Host: localhost', 'Host: A.example.', 'Host: [::1]:8080', 'Host: my_server:80'];
const METHODS = ['GET', 'POST'];
/** More than are sent here. */
const LIMIT = 1000;

interface Answer {
  status: number;
  /** `RateLimit-Remaining`; NaN where the runtime has answered by itself. */
  remaining: number;
  text: string;
}

/** Sends one request with these header lines on a connection of its own. */
function send(url: string, request: string, ...lines: string[]): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (piece: string) => {
    text += piece;
  });
  socket.on('error', reject);
  socket.on('close', () => {
    const remaining = Number(/^ratelimit-remaining: (\d+)/im.exec(text)?.[1] ?? Number.NaN);
    resolve({ status: Number(/^HTTP\/1\.\d (\d{3})/.exec(text)?.[1]), remaining, text });
  });
  socket.write([request, ...lines, 'Connection: close', '', ''].join('\r\n'));
  return promise;
}

for (const runtime of ['bun', 'deno'] as const) {
  test(`a malformed Host is answered 400, counted and logged in one line without a stack, on ${runtime}`, async () => {
    await withFolder(async (folder) => {
      const logFile = join(folder, 'log');
      const env = { RATE_LIMITS: `read=${LIMIT}/24h,write=${LIMIT}/24h,upload=${LIMIT}/24h` };
      const server = await startServer(runtime, env, folder, logInto(logFile));
      let answered = 0;
      try {
        for (const method of METHODS) {
          let last = LIMIT;
          for (const line of MALFORMED) {
            const length = method === 'POST' ? ['Content-Length: 0'] : [];
            const { status, remaining, text } = await send(
              server.url,
              `${method} /gallery?page=1 HTTP/1.1`,
              line,
              'Accept: text/html',
              ...length,
            );
            expect([method, line, status]).toEqual([method, line, 400]);
            if (Number.isNaN(remaining)) continue;
            answered++;
            expect(text).toContain('The header Host must name one host.');
            expect(remaining).toBe(--last);
          }
        }
        for (const line of WELL_FORMED) {
          expect((await send(server.url, 'GET /livez HTTP/1.1', line)).status).toBe(200);
        }
        expect((await send(server.url, 'GET /docs HTTP/1.0')).status).toBe(200);
      } finally {
        await server.stop();
      }
      const lines = (await readFile(logFile, 'utf8')).trim().split('\n');
      const refused = lines.filter((line) => JSON.parse(line).status === 400);
      expect(refused.length).toBe(answered);
      expect(answered).toBeGreaterThanOrEqual(METHODS.length * (MALFORMED.length - 2));
      expect(lines.filter((line) => line.includes('"level":"error"') || line.includes('stack'))).toEqual([]);
    });
  });
}

test.each(['bun', 'deno'] as const)(
  'a server on %s that waits for its records shows that it lives, whatever the Host',
  async (runtime) => {
    const server = await startWaiting(runtime, { METADATA_URL: 'redis://127.0.0.1:9' });
    try {
      const answers = [
        await send(server.url, 'GET /livez HTTP/1.0'),
        await send(server.url, 'GET /livez?from=balancer HTTP/1.1', 'Host: a b'),
        await send(server.url, 'GET /readyz HTTP/1.1', 'Host: a:99999'),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 503]);
    } finally {
      await server.stop();
    }
  },
);
