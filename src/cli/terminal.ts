import type { Environment } from '../config.ts';
import { withoutSecrets } from '../lib/masked.ts';
import { OutputFault } from './exit.ts';

/** The part of `process.stdout` and `process.stderr` that is used here. */
export interface Stream {
  isTTY?: boolean;
  columns?: number;
  write(text: string, done: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

const CLEAR_LINE = '\r\u001b[K';
/** All control characters but these two: names of files and words of servers may have any. */
const STEERING = /[^\P{Cc}\n\t]/gu;

interface TerminalOptions {
  stdout: Stream;
  stderr: Stream;
  env: Environment;
}

export function createTerminal({ stdout, stderr, env }: TerminalOptions) {
  const live = stderr.isTTY === true && env.TERM !== 'dumb';
  let shown = '';
  let pending = '';
  let printing: Promise<void> = Promise.resolve();
  let telling: Promise<void> = Promise.resolve();
  // The callback of each write reports the error.
  for (const stream of [stdout, stderr]) stream.on('error', () => {});

  async function write(text: string): Promise<void> {
    const written = new Promise<Error | null | undefined>((resolve) => stdout.write(text, resolve));
    // Deno throws some errors instead of passing them on.
    const error = await written.catch((thrown: Error) => thrown);
    if (error) throw new OutputFault('code' in error ? String(error.code) : error.message);
  }

  function tell(text: string): void {
    telling = new Promise((resolve) => stderr.write(text, () => resolve()));
  }

  function clear(): void {
    if (shown !== '') tell(CLEAR_LINE);
    shown = '';
  }

  return {
    /** True if standard error is a terminal that can move its cursor. */
    live,
    /**
     * Writes data to the output, on a terminal without what would steer it. Lines from one turn of the event loop are
     * sent together. Resolves when they are accepted. Rejects with an `OutputFault`. Standard error without a reader is
     * ignored.
     */
    print(text: string): Promise<void> {
      if (pending === '') {
        printing = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
          const piece = pending;
          pending = '';
          if (stdout.isTTY) clear();
          return write(stdout.isTTY ? piece.replace(STEERING, '?') : piece);
        });
      }
      pending += text;
      return printing;
    },
    /** Writes a line for the user, without the secrets of URLs. */
    say(line: string): void {
      clear();
      tell(`${withoutSecrets(line).replace(STEERING, '?')}\n`);
    },
    /** Shows a line that the next one replaces, cut to the width. An empty line removes it. Only on a terminal. */
    status(line: string): void {
      if (!live) return;
      // Some terminals report zero columns.
      const cut = line.slice(0, Math.max(10, (stderr.columns || 80) - 1));
      if (cut === shown) return;
      tell(CLEAR_LINE + cut);
      shown = cut;
    },
    /** Resolves when everything is written, or failed to be, which its `print` has said. */
    async flush(): Promise<void> {
      clear();
      await printing.catch(() => {});
      await telling;
    },
  };
}

/** Where a command writes: data to standard output, everything else to standard error. */
export type Terminal = ReturnType<typeof createTerminal>;
