import { readFile } from 'node:fs/promises';

/** Descriptors left to clients, stores and conversion processes when checks take the rest. */
const RESERVED = 200;

/**
 * How many sockets may be opened at once for checks: `wanted`, unless the process may not open that many files.
 * Where the limit cannot be read (outside Linux) it is not known to be lower.
 */
export async function affordableSockets(wanted: number, limitsPath = '/proc/self/limits'): Promise<number> {
  const limits = await readFile(limitsPath, 'utf8').catch(() => '');
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  if (soft === undefined) return wanted;
  return Math.max(1, Math.min(wanted, Number(soft) - RESERVED, Math.floor(Number(soft) / 2)));
}
