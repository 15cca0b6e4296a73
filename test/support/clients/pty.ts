import { cliCommand, cliEnvironment } from '../servers/cli.ts';
import type { RuntimeName } from '../servers/server-process.ts';

export interface PtyProcess {
  /** Resolves with all that was shown once this is part of it; rejects where the program ends before. */
  shows(text: string): Promise<string>;
  type(keys: string): void;
  /** All that was shown so far. */
  shown(): string;
  kill(signal: NodeJS.Signals): void;
  exited: Promise<number>;
}

/** Runs the real program in a terminal of its own, 100 columns by 50 rows. */
export function runInTerminal(
  args: string[],
  env: Record<string, string> = {},
  runtime: RuntimeName = 'bun',
): PtyProcess {
  let shown = '';
  let look = () => {};
  const decoder = new TextDecoder();
  const child = Bun.spawn(cliCommand(args, runtime), {
    env: cliEnvironment({ TERM: 'xterm-256color', ...env }),
    terminal: {
      cols: 100,
      rows: 50,
      data(_terminal, piece) {
        shown += decoder.decode(piece, { stream: true });
        look();
      },
    },
  });
  return {
    shows: (text) =>
      new Promise((resolve, reject) => {
        look = () => shown.includes(text) && resolve(shown);
        look();
        void child.exited.then(() => reject(new Error(`it ended without "${text}": ${shown}`)));
      }),
    type: (keys) => void child.terminal?.write(keys),
    shown: () => shown,
    kill: (signal) => child.kill(signal),
    exited: child.exited,
  };
}
