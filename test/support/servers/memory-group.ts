import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../stores/services.ts';

/** The folder of our own group, and the name of the limit in it, for either version of control groups. */
function ownGroup(): { folder: string; limit: string } | null {
  const groups = readFileSync('/proc/self/cgroup', 'utf8');
  const first = /^\d+:memory:(.*)$/m.exec(groups)?.[1];
  if (first !== undefined) {
    return { folder: join('/sys/fs/cgroup/memory', first), limit: 'memory.limit_in_bytes' };
  }
  const second = /^0::(.*)$/m.exec(groups)?.[1];
  const folder = join('/sys/fs/cgroup', second ?? '');
  return second !== undefined && existsSync(join(folder, 'memory.max'))
    ? { folder, limit: 'memory.max' }
    : null;
}

/** Reports whether memory can be limited here: only root can, and only if the kernel offers it. */
export function canLimitMemory(): boolean {
  return process.getuid?.() === 0 && ownGroup() !== null;
}

/** Creates a control group that limits the memory of the processes in it, in bytes, without swap where the kernel counts it. */
export async function createMemoryGroup(bytes: number) {
  const own = ownGroup();
  if (!own) throw new Error('memory cannot be limited here');
  const folder = join(own.folder, `picpool-${crypto.randomUUID()}`);
  await mkdir(folder);
  await writeFile(join(folder, own.limit), String(bytes));
  for (const [name, value] of [
    ['memory.memsw.limit_in_bytes', String(bytes)],
    ['memory.swap.max', '0'],
  ] as const) {
    if (existsSync(join(folder, name))) await writeFile(join(folder, name), value);
  }
  return {
    /** A command that runs the command behind it in the group, in the same process. */
    wrapper: ['sh', '-c', `echo $$ >'${folder}/cgroup.procs' && exec "$@"`, 'sh'],
    /** How often the kernel has killed a process because the group was at its limit; `null` if it does not count. */
    async kills() {
      const counted = ['memory.oom_control', 'memory.events'].find((name) => existsSync(join(folder, name)));
      const text = counted === undefined ? '' : await readFile(join(folder, counted), 'utf8');
      return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? Number.NaN) || null;
    },
    /** Removes the group. Its processes must have ended. */
    async remove() {
      // Processes that were killed leave the group a moment later.
      await until(async () => (await readFile(join(folder, 'cgroup.procs'), 'utf8')) === '');
      await rmdir(folder);
    },
  };
}
