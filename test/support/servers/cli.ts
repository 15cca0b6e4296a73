import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMMANDS, type RuntimeName } from './server-process.ts';

const ROOT = new URL('../../..', import.meta.url).pathname;

export interface CliOptions {
  runtime?: RuntimeName;
  /** Besides PATH and HOME. */
  env?: Record<string, string>;
  stdin?: string | Blob;
  cwd?: string;
}

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the real program to its end. */
export async function cli(args: string[], options: CliOptions = {}): Promise<CliResult> {
  const child = Bun.spawn(cliCommand(args, options.runtime), {
    stdin: options.stdin === undefined ? 'ignore' : new Blob([options.stdin]),
    stdout: 'pipe',
    stderr: 'pipe',
    env: cliEnvironment(options.env),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  });
  // Not `stdout.text()`, which the browser's types of a stream lack.
  const streams = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
  const [stdout = '', stderr = ''] = await Promise.all(streams);
  return { code: await child.exited, stdout, stderr };
}

/** Program and arguments, whatever folder it runs in. */
export function cliCommand(args: string[], runtime: RuntimeName = 'bun'): string[] {
  return [...COMMANDS[runtime].map((word) => (word.startsWith('src/') ? ROOT + word : word)), ...args];
}

export function cliEnvironment(env: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '', DENO_DIR } = process.env;
  // Tests keep no tokens in the user's own folder.
  const XDG_CONFIG_HOME = join(tmpdir(), `picpool-config-${process.pid}`);
  return { PATH, HOME, XDG_CONFIG_HOME, ...(DENO_DIR !== undefined && { DENO_DIR }), ...env };
}

/** The lines of a text, sorted. */
export function sortedLines(text: string): string[] {
  return text.split('\n').filter(Boolean).sort();
}
