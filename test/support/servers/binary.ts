import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The user that runs it: another one if possible, which cannot read what this one owns. */
export const OTHER_USER = process.geteuid?.() === 0 ? 65_534 : undefined;

export interface BinaryOptions {
  args?: string[];
  cwd: string;
  /** All of its environment. */
  env: Record<string, string>;
}

/** Starts the compiled program as `OTHER_USER`. */
export function startBinary(path: string, { args = [], cwd, env }: BinaryOptions) {
  const child = spawn(path, args, {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(OTHER_USER !== undefined && { uid: OTHER_USER, gid: OTHER_USER }),
  });
  let text = '';
  const closed = once(child, 'close');
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      child.emit('said');
    });
  }
  return {
    child,
    /** What it has written so far, to stdout and stderr. */
    output: () => text,
    /** Resolves with the first match in its output. Rejects if it ends before. */
    async says(pattern: RegExp) {
      for (;;) {
        const found = pattern.exec(text);
        if (found) return found;
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended: ${text}`);
        await Promise.race([once(child, 'said'), closed]);
      }
    },
    /** Sends the signal and resolves with the exit code, or null if the signal killed it. */
    async end(signal: NodeJS.Signals) {
      child.kill(signal);
      await closed;
      return child.exitCode;
    },
  };
}

export type RunningBinary = ReturnType<typeof startBinary>;
