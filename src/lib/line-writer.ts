/** Lines on their way out, so many at a time: one write costs as much as making the line. */
export interface LineWriter {
  write(line: string): void;
  /** Writes what waits, now. */
  flush(): void;
}

export interface LineWriterOptions {
  write: (text: string) => void;
  /** The most that a line waits. */
  everyMs?: number;
  /** More characters than these are not held back. */
  maxWaiting?: number;
}

/** Someone who watches the log does not notice it. */
const EVERY_MS = 100;
const MAX_WAITING = 64 * 1024;

export function createLineWriter({
  write,
  everyMs = EVERY_MS,
  maxWaiting = MAX_WAITING,
}: LineWriterOptions): LineWriter {
  let waiting = '';
  let timer: ReturnType<typeof setTimeout> | null = null;

  function flush(): void {
    if (timer) clearTimeout(timer);
    timer = null;
    const text = waiting;
    waiting = '';
    if (text !== '') write(text);
  }

  return {
    write(line) {
      waiting += `${line}\n`;
      if (waiting.length > maxWaiting) flush();
      else timer ??= setTimeout(flush, everyMs);
    },
    flush,
  };
}
