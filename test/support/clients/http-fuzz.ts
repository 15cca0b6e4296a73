import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createRandom } from '../random.ts';
import { logInto, type RuntimeName, startServer } from '../servers/server-process.ts';
import { withFolder } from '../temporary.ts';
import { createFuzzCases } from './http-fuzz-cases.ts';

const AT_ONCE = 32;
/** A connection that says nothing for so long, while others get their answers, is given up: the server waits for more. */
const QUIET_MS = 250;
/** That of a whole case. */
const MOST_MS = 30_000;
/** A version that is none is the runtime's own 505, and a transfer coding that is none its 501. */
const RIGHT_5XX = new Set(['501', '505']);
/** What an answer shows only where something inside was not caught. */
const STACK = /\bat [\w.<>]+ \(|\.ts:\d+:\d+|node_modules|SyntaxError|TypeError/;

/** Sends so many cases to a server of its own. The same seed makes the same cases. */
export function fuzzHttp(runtime: RuntimeName, cases: number, seed: number) {
  return withFolder(async (folder) => {
    const log = join(folder, 'server.log');
    const env = {
      RATE_LIMITS: 'off',
      LOG_LEVEL: 'error',
      IMAGE_WORKERS: '1',
      PROXY_SOURCES: 'file:/dev/null',
      PROXY_JUDGES: 'http://127.0.0.1:9/',
    };
    const server = await startServer(runtime, env, join(folder, 'data'), logInto(log));
    const next = createFuzzCases(createRandom(seed));
    const answers: Record<string, number> = {};
    const faults: string[] = [];
    let sent = 0;
    let early = 0;

    async function sendAll(): Promise<void> {
      while (sent < cases) {
        const number = sent++;
        if (number === Math.floor(cases / 10)) early = await residentBytes(server.pid);
        const bytes = next();
        const text = await exchange(server.url, bytes);
        const statuses = [...text.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status = '']) => status);
        for (const status of statuses.length > 0 ? statuses : ['none']) {
          answers[status] = (answers[status] ?? 0) + 1;
        }
        const wrong = statuses.find((status) => status.startsWith('5') && !RIGHT_5XX.has(status));
        if (wrong !== undefined || STACK.test(text) || text === 'refused') {
          faults.push(
            `case ${number}: ${JSON.stringify(bytes.toString('latin1').slice(0, 600))} -> ${text.slice(0, 400)}`,
          );
        }
      }
    }

    await Promise.all(Array.from({ length: AT_ONCE }, sendAll));
    const late = await residentBytes(server.pid);
    const alive = await fetch(`${server.url}/livez`).then(({ status }) => status, String);
    if (alive !== 200) faults.push(`at the end /livez is ${alive}: ${server.stderr().slice(-2000)}`);
    const exitCode = await server.stop();
    const logged = (await readFile(log, 'utf8')).split('\n').filter((line) => line !== '');
    return {
      cases,
      /** Answers by status; `none`: the connection ended, or fell silent, without one. */
      answers,
      /** What must not happen: the case, and its result. */
      faults,
      /** Lines of the log with an error. */
      logged,
      /** Of the server at the end, and at a tenth of the way, in bytes. */
      memory: { early, late },
      /** How the server ended when it was asked to. */
      exitCode,
    };
  });
}

/** All that came back; `refused` where nobody listens any more. */
function exchange(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    const late = setTimeout(() => socket.destroy(), MOST_MS);
    socket.once('timeout', async () => {
      // A busy machine is also silent. The server reads some requests in several turns.
      for (let turns = 0; turns < 3; turns++) await fetch(`${url}/livez`).catch(() => {});
      socket.destroy();
    });
    socket.setTimeout(QUIET_MS);
    socket.on('data', (piece) => {
      // Pages are long, and their beginning says all.
      if (text.length < 100_000) text += piece.toString('latin1');
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') text = 'refused';
    });
    socket.on('close', () => {
      clearTimeout(late);
      resolve(text);
    });
  });
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}
