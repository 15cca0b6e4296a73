import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { pathOf } from '../absent.ts';
import { freePort } from '../free-port.ts';
import { listens } from '../servers/processes.ts';

/** A real server that a test may stop, hold up and start again. */
export type Service = Program & { url: string };

/** Key and secret of the S3 servers that tests start. */
export const S3_CREDENTIALS = { accessKeyId: 'picpool-test', secretAccessKey: 'picpool-test-secret' };
/** The same as settings. */
export const S3_ACCESS = {
  AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
};

const START_MS = 45_000;

/** Redis with its file synced on every write, so that a kill loses nothing. */
export async function startRedis(): Promise<Service> {
  const service = await startRedisServer((port) => ['--port', `${port}`]);
  return { ...service, url: `redis://127.0.0.1:${service.port}` };
}

/** Redis with more arguments, which name the port. */
export async function startRedisServer(
  more: (port: number, folder: string) => string[],
  prepare?: (folder: string) => Promise<unknown>,
): Promise<Program> {
  const program = await find('redis-server', "Debian's package redis-server");
  return startProgram(
    (port, folder) => [
      program,
      ...['--bind', '127.0.0.1', '--dir', folder, '--save', '', '--loglevel', 'warning'],
      ...['--appendonly', 'yes', '--appendfsync', 'always', ...more(port, folder)],
    ],
    { prepare },
  );
}

/**
 * An S3 server (versitygw) over a folder; the URL has one empty bucket and no prefix. `virtualUrl` is the same with the
 * bucket in the name of the host, which only Bun finds by itself. `folder` holds the objects of the bucket as files.
 */
export async function startS3() {
  const program = await find('versitygw', 'versitygw, which scripts/services fetch gets');
  const service = await startProgram(
    (port, folder) => [
      program,
      ...['--port', `127.0.0.1:${port}`, '--access', S3_CREDENTIALS.accessKeyId, '--quiet'],
      ...['--secret', S3_CREDENTIALS.secretAccessKey, '--virtual-domain', 'localhost'],
      ...['--iam-dir', join(folder, 'users')],
      ...['posix', join(folder, 'data')],
    ],
    {
      async prepare(folder) {
        await mkdir(join(folder, 'data', 'bucket'), { recursive: true });
        await mkdir(join(folder, 'users'));
      },
    },
  );
  const endpoint = `http://127.0.0.1:${service.port}`;
  const url = (at: string, pathStyle: boolean) =>
    `s3://bucket?endpoint=${at}&region=us-east-1&path_style=${pathStyle}`;
  const virtualUrl = url(`http://localhost:${service.port}`, false);
  const folder = join(service.folder, 'data', 'bucket');
  return { ...service, endpoint, url: url(endpoint, true), virtualUrl, folder };
}

/** The Redis that `TEST_REDIS_URL` names, or a fresh one. */
export async function sharedRedis(): Promise<Pick<Service, 'url' | 'stop'>> {
  const url = process.env.TEST_REDIS_URL;
  return url ? { url, stop: async () => {} } : startRedis();
}

/** The S3 server that `TEST_S3_URL` names (with the credentials of AWS_*), or a fresh one. */
export async function sharedS3(): Promise<
  Pick<Service, 'url' | 'stop'> & { credentials: typeof S3_CREDENTIALS }
> {
  const { TEST_S3_URL: url, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env;
  if (!url) return { ...(await startS3()), credentials: S3_CREDENTIALS };
  const credentials = { accessKeyId: AWS_ACCESS_KEY_ID ?? '', secretAccessKey: AWS_SECRET_ACCESS_KEY ?? '' };
  return { url, credentials, stop: async () => {} };
}

/** The path of a program; rejects, naming where it comes from, when it is not installed. */
export async function find(program: string, source: string): Promise<string> {
  const path = pathOf(program);
  if (path !== undefined) return path;
  throw new Error(`${program} is missing; install ${source}`);
}

/** Another program had the port first. */
class PortTaken extends Error {}

interface Start {
  /** Resolves when the program, which listens, answers. */
  ready?: (port: number) => Promise<void>;
  prepare?: ((folder: string, port: number) => Promise<unknown>) | undefined;
  /** The signal by which it ends without a word to anybody, with its children. Default: SIGKILL. */
  endWith?: NodeJS.Signals;
  /** Where it listens. */
  host?: string;
}

type Program = Awaited<ReturnType<typeof startOnce>>;

/**
 * Starts a program on a free port, in a folder of its own; `args` are the program and its arguments. If another program takes the
 * port first, it is started on another.
 */
export async function startProgram(...how: Parameters<typeof startOnce>): Promise<Program> {
  for (let tries = 1; ; tries++) {
    try {
      return await startOnce(...how);
    } catch (error) {
      if (!(error instanceof PortTaken) || tries === 3) throw error;
    }
  }
}

async function startOnce(
  args: (port: number, folder: string) => string[],
  { ready, prepare, endWith = 'SIGKILL', host = '127.0.0.1' }: Start = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-service-'));
  const port = await freePort(host);
  await prepare?.(folder, port);
  const [program = '', ...rest] = args(port, folder);
  let child: ChildProcess | null = null;
  let exited: Promise<unknown> = Promise.resolve();

  async function start(): Promise<void> {
    const started = spawn(program, rest, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk) => {
        output = `${output}${chunk}`.slice(-4000);
      });
    }
    child = started;
    let ended = false;
    exited = new Promise((resolve) => started.once('exit', resolve)).then(() => {
      ended = true;
      child = null;
    });
    await until(async () => {
      if (!ended) return isOurs(started.pid ?? 0, host, port);
      if (await accepts(host, port)) throw new PortTaken(output);
      throw new Error(`${program} ended: ${output}`);
    }).catch((cause) => {
      if (cause instanceof PortTaken) throw cause;
      throw new Error(`${program} does not listen on port ${port}: ${output}`, { cause });
    });
    await ready?.(port);
  }

  /** Not by `child.kill`: on Deno that forgets the child, whatever the signal. */
  function send(signal: NodeJS.Signals): void {
    if (child?.pid !== undefined) process.kill(child.pid, signal);
  }

  async function kill(signal: NodeJS.Signals): Promise<void> {
    send('SIGCONT');
    send(signal);
    await exited;
  }

  /** Ends it and removes its data. */
  async function stop(): Promise<void> {
    await kill(endWith);
    await rm(folder, { recursive: true, force: true });
  }

  await start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    port,
    folder,
    /** Starts it again on the same port with the data that stands. */
    start,
    /** Kills it without warning; its data stays. */
    kill: () => kill(endWith),
    /** It keeps its connections, but does not answer until `resume`. */
    pause: () => send('SIGSTOP'),
    resume: () => send('SIGCONT'),
    stop,
  };
}

/** What accepts connections there may be somebody else's. */
async function isOurs(pid: number, host: string, port: number): Promise<boolean> {
  return (await accepts(host, port)) && (process.platform !== 'linux' || (await listens(pid, port)));
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** One command of Redis over a connection of its own; answers what comes first. */
export function command(port: number, ...words: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${words.join(' ')}\r\n`));
    socket.once('data', (data) => {
      socket.destroy();
      resolve(data.toString());
    });
    socket.once('error', reject);
  });
}

/**
 * Resolves when the condition holds; rejects when it does not within the time. The longer it has waited, the longer it waits
 * before it looks again: what is looked at takes the processor from what is waited for.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  limitMs: number = START_MS,
): Promise<void> {
  const began = Date.now();
  while (!(await condition())) {
    const waited = Date.now() - began;
    if (waited > limitMs) throw new Error('the condition did not come to hold in time');
    await new Promise((resolve) => setTimeout(resolve, Math.min(Math.max(10, waited / 20), 100)));
  }
}
