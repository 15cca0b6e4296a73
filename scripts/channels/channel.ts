import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** The life of an installation, in order. */
export const STEPS = ['install', 'start', 'main job', 'upgrade', 'remove'] as const;
type Step = (typeof STEPS)[number];

/** A way of installing picpool, with its steps. */
export interface Channel {
  name: string;
  /** Programs that it needs; without them it is skipped. */
  needs: readonly string[];
  /** The server that was started, whose main job is the same in every way of installing it. */
  url(): string;
  /** The token of its administrator, if it has one. */
  token?(): string;
  /** A step resolves with a short result. A missing step does not apply. `kept`: the path of a picture from before. */
  steps: Partial<Record<Exclude<Step, 'main job'>, (kept: string) => Promise<string>>>;
  /** Removes what the steps have left, even if one of them failed. */
  close(): Promise<void>;
}

/** Thrown if this machine cannot run a step, whatever the release is like. */
export class CannotRun extends Error {}

/** What channels share: the files of a release, and an older release for upgrades. */
export interface World {
  /** The folder of the release. */
  release: string;
  /** A folder of the test's own. */
  scratch: string;
  version: string;
  /** The version of the older packages: the same program with a lower number. */
  older: string;
}

/** A closed port on every machine: no judge or list is requested, and nothing leaves the machine. */
const NOWHERE = 'http://127.0.0.1:9/';
export const SETTINGS = {
  HOST: '127.0.0.1',
  PROXY_JUDGES: NOWHERE,
  PROXY_SOURCES: NOWHERE,
  PROXY_REFRESH_ON_START: 'false',
};

/** A picture of one pixel. */
const PIXEL = Uint8Array.fromBase64('R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==');

export interface Server {
  url: string;
  /** Ends it like a service manager. Rejects if it does not end cleanly. */
  stop(): Promise<void>;
  /** Ends it and all its child processes, like Ctrl-C in a terminal. */
  interrupt(): Promise<void>;
}

/** Starts a command that runs the server in the foreground. Resolves once it listens. */
export async function serve(
  command: readonly string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<Server> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options });
  let output = '';
  const listening = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const url = /listening\s+(\S+)/.exec(output)?.[1];
      if (url !== undefined) listening.resolve(url);
    });
  }
  child.on('error', listening.reject);
  child.on('close', () => listening.reject(new Error(`it ended before it listened: ${output}`)));
  const url = await listening.promise;
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      assert.equal(await exitCode(child), 0, output.slice(-2000));
    },
    async interrupt() {
      process.kill(-(child.pid ?? 0), 'SIGINT');
      await exitCode(child);
      await assert.rejects(fetch(url));
    },
  };
}

/** Returns the exit code of a program once it has ended; `null` if a signal ended it. */
export async function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** Uploads a picture that must survive the upgrade, and returns the path of its file. */
export async function keepPicture(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/upload?format=gif`, { method: 'POST', body: PIXEL });
  const text = await answer.text();
  assert.equal(answer.status, 201, text);
  return new URL(JSON.parse(text).raw_url).pathname;
}

/** Asserts that the picture is still served. */
export async function assertKept(url: string, path: string): Promise<void> {
  const answer = await fetch(`${url}${path}`);
  assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'image/gif']);
  assert.ok((await answer.bytes()).length > 0);
}

/** Resolves once the server reports that it is ready. Rejects after that many seconds. */
export async function ready(url: string, seconds = 60): Promise<void> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    assert.ok(Date.now() < end, `${url} is not ready after ${seconds} s`);
    await Bun.sleep(100);
  }
}
