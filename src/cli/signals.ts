import { readFileSync } from 'node:fs';
import process from 'node:process';

/** Within this, it is the same one again: the launcher of npm passes on what a process manager sends to all processes. */
const SAME_SIGNAL_MS = 500;

/**
 * Returns the signals that ask for an orderly end. SIGHUP, as a terminal sends it that is closed, counts unless `nohup` has
 * made the program ignore it, which a handler would undo, or that cannot be read (outside Linux, and by Deno's permissions).
 */
export function endingSignals(statusPath = '/proc/self/status'): NodeJS.Signals[] {
  let status = '';
  try {
    status = readFileSync(statusPath, 'utf8');
  } catch {}
  const ignored = Number.parseInt(/^SigIgn:\s*\w*(\w)$/m.exec(status)?.[1] ?? 'f', 16);
  return ['SIGTERM', 'SIGINT', ...(ignored % 2 === 1 ? [] : (['SIGHUP'] as const))];
}

/** Resolves with the first of these signals. A second one ends the process at once. */
export async function endingSignal(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let onSignal: (signal: string) => void = resolve;
  for (const signal of endingSignals()) process.on(signal, () => onSignal(signal));
  const signal = await promise;
  setTimeout(() => {
    onSignal = () => process.exit(1);
  }, SAME_SIGNAL_MS);
  return signal;
}
