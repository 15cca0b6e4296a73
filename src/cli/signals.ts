import { readFileSync } from 'node:fs';

/**
 * Returns the signals that ask for an orderly end. SIGHUP, as a terminal sends it that is closed, counts unless `nohup` has
 * made the program ignore it, which a handler would undo, or that cannot be read (outside Linux).
 */
export function endingSignals(statusPath = '/proc/self/status'): NodeJS.Signals[] {
  return ['SIGTERM', 'SIGINT', ...(ignoresHangUp(statusPath) ? [] : (['SIGHUP'] as const))];
}

function ignoresHangUp(statusPath: string): boolean {
  try {
    const mask = /^SigIgn:\s*([\da-f]+)$/m.exec(readFileSync(statusPath, 'utf8'))?.[1] ?? 'f';
    return Number.parseInt(mask.slice(-1), 16) % 2 === 1;
  } catch {
    return true;
  }
}
