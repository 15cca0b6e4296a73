import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Descriptors left for clients, stores and conversion processes when checks use the rest. */
const RESERVED = 200;

/** This many clients at once are not an attack yet, and the checks of proxies come on top. */
const ENOUGH = 4096;

/** A file that Deno's permissions let the server read. */
const READABLE = new URL('../web/client/base.css', import.meta.url);

/**
 * Returns how many files and sockets this process may open; `null` if that is enough, but unknown, because it cannot be
 * read (outside Linux, and by Deno's permissions). Bun and Deno raise the limit at their start as far as the system allows.
 */
export async function mostOpenFiles(limitsPath = '/proc/self/limits'): Promise<number | null> {
  const limits = await readFile(limitsPath, 'utf8').catch(() => '');
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  if (soft !== undefined) return Number(soft);
  // Only once, at the start: later, others would miss what it takes.
  if (tried === undefined) tried = openable();
  return tried;
}

let tried: number | null | undefined;

/** Tries how many files can be opened. Returns `null` if it is enough. */
function openable(): number | null {
  const files: number[] = [];
  try {
    while (files.length < ENOUGH) files.push(openSync(READABLE, 'r'));
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EMFILE' ? files.length : null;
  } finally {
    for (const file of files) closeSync(file);
  }
}

/**
 * Returns how many sockets may be opened at once for checks: `wanted`, unless the process may not open that many
 * files. If the limit cannot be read, it is not assumed to be lower.
 */
export async function affordableSockets(wanted: number, limitsPath = '/proc/self/limits'): Promise<number> {
  const most = await mostOpenFiles(limitsPath);
  if (most === null) return wanted;
  return Math.max(1, Math.min(wanted, most - RESERVED, Math.floor(most / 2)));
}

/** Returns the limit of open files if it is too low for a public server, otherwise `null`. */
export async function lowFileLimit(limitsPath = '/proc/self/limits'): Promise<number | null> {
  const most = await mostOpenFiles(limitsPath);
  return most !== null && most < ENOUGH ? most : null;
}
