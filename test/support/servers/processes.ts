import { readdir, readFile, readlink } from 'node:fs/promises';

/** The processes whose parent is this one; Linux only. */
export async function childrenOf(pid: number): Promise<number[]> {
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(all.map((one) => parentOf(one)));
  return all.filter((_, index) => parents[index] === pid);
}

/** Whether the process, or one that it has started, and nobody else, listens on the port; Linux only. */
export async function listens(pid: number, port: number): Promise<boolean> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const sockets = new Set<string>();
  for (const line of tables.join('').split('\n')) {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (local?.endsWith(end) && state === LISTENS) sockets.add(`socket:[${inode}]`);
  }
  return holds(pid, sockets);
}

/** A state in Linux's tables of sockets. */
const LISTENS = '0A';

async function holds(pid: number, sockets: ReadonlySet<string>): Promise<boolean> {
  if (sockets.size === 0) return false;
  const folder = `/proc/${pid}/fd`;
  const files = await readdir(folder).catch(() => []);
  const targets = await Promise.all(files.map((file) => readlink(`${folder}/${file}`).catch(() => '')));
  if (targets.some((target) => sockets.has(target))) return true;
  const children = await childrenOf(pid);
  return (await Promise.all(children.map((child) => holds(child, sockets)))).includes(true);
}

/** True while the process is there and not a zombie. */
export async function isRunning(pid: number): Promise<boolean> {
  const fields = await statOf(pid);
  return fields !== null && fields[0] !== 'Z';
}

/** Clock ticks of Linux. */
const TICK_MS = 10;

/** Processor time that the process and its children, those that have ended too, have taken, in ms. */
export async function cpuMsOf(pid: number): Promise<number> {
  const [fields, children] = await Promise.all([statOf(pid), childrenOf(pid)]);
  const own = (fields ?? []).slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
  return (await Promise.all(children.map(cpuMsOf))).reduce((sum, ms) => sum + ms, own);
}

async function parentOf(pid: number): Promise<number> {
  return Number((await statOf(pid))?.[1] ?? 0);
}

/** What stands in /proc/<pid>/stat behind the name: state, parent... */
async function statOf(pid: number): Promise<string[] | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
}
