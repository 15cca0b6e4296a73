import process from 'node:process';
import type { System } from '../../lib/linux/system.ts';
import { LAUNCHER, launch } from '../sandbox/launch.ts';
import type { Environment } from './protocol.ts';

interface Surroundings {
  /** `null` if the system or the runtime has no such calls. */
  system: System | null;
  /** Absolute path and arguments that start this program again. */
  command: readonly string[];
  env: Environment;
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
  const { runConvertWorker } = await import('./worker.ts');
  const [, memory, missing = '', must] = args;
  if (name === LAUNCHER) return runWithoutSandbox(args[2] === 'must');
  // The launcher passes on the memory limit, the unavailable parts and whether all are demanded.
  const sandbox = system !== null && memory !== undefined;
  await runConvertWorker(
    sandbox
      ? {
          system,
          memoryBytes: Number(memory),
          missing: missing.split(',').filter((part) => part !== ''),
          must: must === 'must',
        }
      : null,
  );
}

/** Used if there are no system calls, as outside Linux. */
async function runWithoutSandbox(must: boolean): Promise<void> {
  if (must) {
    process.stderr.write('Conversions cannot be sandboxed here.\n');
    process.exit(1);
  }
  const { runConvertWorker } = await import('./worker.ts');
  return runConvertWorker(null);
}
