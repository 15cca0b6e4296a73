import process from 'node:process';
import type { System } from '../../lib/linux/system.ts';
import { LAUNCHER, type LaunchOptions, launch } from '../sandbox/launch.ts';

interface Surroundings extends Pick<LaunchOptions, 'command' | 'env'> {
  /** `null` if the system or the runtime has no such calls. */
  system: System | null;
}

/** Runs a process that the pool has started: a worker, or the launcher, which drops rights and becomes a worker. */
export async function runConversionProcess(
  name: string,
  args: readonly string[],
  { system, command, env }: Surroundings,
): Promise<void> {
  if (name === LAUNCHER && system) {
    // The program that the launcher becomes is found only by its path.
    return launch({ system, command: [process.execPath, ...command.slice(1)], env, args });
  }
  if (name === LAUNCHER && args[2] === 'must') {
    process.stderr.write('Conversions cannot be sandboxed here.\n');
    process.exit(1);
  }
  const { runConvertWorker } = await import('./worker.ts');
  // The launcher passes on the memory limit, the unavailable parts and whether all are demanded.
  const [, memory, missing = '', must = ''] = args;
  // There are no system calls outside Linux.
  if (system === null || memory === undefined) return runConvertWorker(null);
  const lacking = missing.split(',').filter(Boolean);
  return runConvertWorker({ system, memoryBytes: Number(memory), missing: lacking, must: must !== '' });
}
