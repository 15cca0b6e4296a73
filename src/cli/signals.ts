import { readFileSync } from 'node:fs';

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
