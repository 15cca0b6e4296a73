import { readFile } from 'node:fs/promises';

/** Linux counts in hundredths of a second. */
const TICKS = 100;

/** CPU time that a process has used, in seconds. Unlike wall time, it barely changes on a busy machine. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
