import { readFile } from 'node:fs/promises';

/** Descriptors left to clients, stores and conversion processes when checks take the rest. */
const RESERVED = 200;

/** So many clients at once are no attack yet, and the checks of proxies come on top. */
const ENOUGH = 4096;

/**
 * How many files and sockets this process may hold; `null` if that cannot be read (outside Linux). Bun and Deno raise it at their start
 * as far as the system lets them.
 */
async function mostOpenFiles(limitsPath: string): Promise<number | null> {
  const limits = await readFile(limitsPath, 'utf8').catch(() => '');
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? null : Number(soft);
}

/**
 * How many sockets may be opened at once for checks: `wanted`, unless the process may not open that many files.
 * Where the limit cannot be read it is not known to be lower.
 */
export async function affordableSockets(wanted: number, limitsPath = '/proc/self/limits'): Promise<number> {
  const most = await mostOpenFiles(limitsPath);
  if (most === null) return wanted;
  return Math.max(1, Math.min(wanted, most - RESERVED, Math.floor(most / 2)));
}

/** The limit of open files where it is too low for a public server, else `null`. */
export async function lowFileLimit(limitsPath = '/proc/self/limits'): Promise<number | null> {
  const most = await mostOpenFiles(limitsPath);
  return most !== null && most < ENOUGH ? most : null;
}
