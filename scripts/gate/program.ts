import { existsSync, readFileSync, writeSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';

/** With what `scripts/counterparts` fetches, and Debian's servers. */
const PATH = [resolve('.tools/deno/node_modules/.bin'), process.env.PATH, '/usr/sbin'].join(delimiter);

/** The process groups of the programs that run. */
const groups = new Set<number>();

/** Whether `nohup` has started this. The last bit is that of SIGHUP; only Linux tells. */
const outlivesTerminal =
  existsSync('/proc/self/status') && /^SigIgn:.*[13579bdf]$/m.test(readFileSync('/proc/self/status', 'utf8'));

// A terminal signals its own group alone, also when it is closed.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  if (signal === 'SIGHUP' && outlivesTerminal) continue;
  process.once(signal, () => {
    for (const group of groups) signalGroup(group, signal);
    process.exit(1);
  });
}

/**
 * Runs a program, and writes what it says to the file descriptor: all of it, or the lines that `shown` accepts. Default:
 * writes nothing. What the program leaves running, such as the server of a test that failed, ends with it.
 */
export async function runProgram(
  args: readonly string[],
  out: number | null = null,
  shown: (line: string) => boolean = () => true,
): Promise<{ stdout: string; stderr: string; exitCode: number }> {
  const child = Bun.spawn([...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, PATH, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  groups.add(child.pid);
  const said = Promise.all([copy(child.stdout, out, shown), copy(child.stderr, out, shown)]);
  const exitCode = await child.exited;
  signalGroup(child.pid, 'SIGKILL');
  groups.delete(child.pid);
  const [stdout, stderr] = await said;
  return { stdout, stderr, exitCode };
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // All of its processes have ended.
  }
}

async function copy(
  stream: ReadableStream<Uint8Array>,
  out: number | null,
  shown: (line: string) => boolean,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let rest = '';
  const write = (lines: string[]) => {
    if (out !== null) for (const line of lines) if (shown(line)) writeSync(out, `${line}\n`);
  };
  for await (const chunk of stream) {
    const piece = decoder.decode(chunk, { stream: true });
    text += piece;
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    write(lines);
  }
  if (rest !== '') write([rest]);
  return text;
}
