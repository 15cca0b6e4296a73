import process from 'node:process';
import { limit, memoryInUse } from '../../lib/linux/process.ts';
import { install } from '../../lib/linux/seccomp.ts';
import type { System } from '../../lib/linux/system.ts';
import { workerFilter } from './policy.ts';
import { createParts } from './report.ts';

/** Address space beyond its memory, which the runtime reserves and does not use. */
const SPARE_ADDRESSES = 4 * 1024 ** 3;

/**
 * Applies the second half of the sandbox, in a worker that has loaded its libraries and not yet seen a picture: no
 * other program, no new process, and no more memory than given. Returns the parts that are unavailable.
 */
export function confine(system: System, memoryBytes: number): string[] {
  const { missing, apply } = createParts(system);
  apply('memory', (calls) => {
    const used = memoryInUse(calls);
    limit('data', used('VmData') + memoryBytes, calls);
    limit('addressSpace', used('VmSize') + memoryBytes + SPARE_ADDRESSES, calls);
  });
  apply('programs', (calls) => install(workerFilter(process.pid), calls));
  return missing;
}
