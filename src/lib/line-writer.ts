/** Writes lines in batches, because one write costs as much as creating the line. */
interface LineWriter {
  write(line: string): void;
  /** Writes the buffered lines now. */
  flush(): void;
}

interface LineWriterOptions {
  write: (text: string) => void;
  /** Maximum time that a line waits. */
  everyMs?: number;
  /** Maximum number of buffered characters. */
  maxWaiting?: number;
}

/** Too short to notice for someone who watches the log. */
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
