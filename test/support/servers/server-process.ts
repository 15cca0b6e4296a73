import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../stores/services.ts';

export type RuntimeName = 'bun' | 'deno';

/** A packaged program that takes the place of the source on Bun: scripts/release-test. */
const PACKAGED = process.env.PICPOOL_BINARY;

/** How the program is started from source. */
export const COMMANDS: Record<RuntimeName, string[]> = {
  bun: PACKAGED ? [PACKAGED] : [process.execPath, 'src/main.ts'],
  deno: ['deno', 'run', '-A', '--no-check', 'src/main.deno.ts'],
};

/**
 * Conversions by one process without its sandbox, which takes 0.3 s of the processor less from the start of a server to its first
 * picture. Tests of pictures, the sandbox and packages have both.
 */
export const LIGHT = { IMAGE_WORKERS: '1', IMAGE_SANDBOX: 'off' };

/** A wrapper for `startServer` that writes the log of the server into a file. */
export const logInto = (file: string) => ['sh', '-c', 'exec "$@" >"$0"', file];

/** How long a start may take on a busy machine. */
const START_MS = 50_000;

/**
 * Starts the real server as its own process on a free port, with a data folder of its own. Rejects with what it
 * wrote when it ends before it listens. Waits until its records answer, which on a busy machine is later, unless it
 * `mayWait`. `runtime` may be a command line instead; `wrapper`: a command that runs the command behind it, in the
 * same process.
 */
export async function startServer(
  runtime: RuntimeName | readonly string[],
  env: Record<string, string> = {},
  givenFolder?: string,
  wrapper: readonly string[] = [],
  mayWait = false,
) {
  const command = typeof runtime === 'string' ? COMMANDS[runtime] : runtime;
  const folder = givenFolder ?? (await mkdtemp(join(tmpdir(), 'picpool-e2e-')));
  const child = Bun.spawn([...wrapper, ...command], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      ...(process.env.DENO_DIR && { DENO_DIR: process.env.DENO_DIR }),
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: folder,
      PROXY_REFRESH_ON_START: 'false',
      // It refuses at once, and a stop waits for no name server.
      PROXY_JUDGES: 'http://127.0.0.1:9/',
      ...env,
    },
  });
  let stderr = '';
  const { promise: listening, resolve, reject } = Promise.withResolvers<string>();
  const timer = setTimeout(() => reject(new Error(`no start within ${START_MS} ms: ${stderr}`)), START_MS);
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      stderr += decoder.decode(chunk, { stream: true });
      const url = /listening\s+(\S+)/.exec(stderr)?.[1];
      if (url && /\n\s+records\s.*\n/.test(stderr)) resolve(url);
    }
    reject(new Error(`the server ended before it listened: ${stderr}`));
  })();
  const answering = async () => {
    const url = await listening.finally(() => clearTimeout(timer));
    if (!mayWait && stderr.includes('waiting for it'))
      await until(async () => (await fetch(`${url}/openapi.json`)).ok);
    return url;
  };
  async function end(signal: NodeJS.Signals): Promise<number> {
    child.kill(signal);
    const exitCode = await child.exited;
    if (!givenFolder) await rm(folder, { recursive: true, force: true });
    return exitCode;
  }
  const url = await answering().catch(async (error: unknown) => {
    await end('SIGKILL');
    throw error;
  });
  return {
    url,
    pid: child.pid,
    folder,
    /** What it has written to stderr. */
    stderr: () => stderr,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    exited: child.exited,
    /** Ends it with SIGTERM and removes its folder unless that was given; answers the exit code. */
    stop: () => end('SIGTERM').finally(() => reading),
  };
}

export type ServerProcess = Awaited<ReturnType<typeof startServer>>;

/** Starts a server that may have to wait for its records, and does not wait for them. */
export const startWaiting = (runtime: RuntimeName, env: Record<string, string>) =>
  startServer(runtime, env, undefined, [], true);
