import process from 'node:process';
import { limit, memoryInUse } from '../../lib/linux/process.ts';
import { install } from '../../lib/linux/seccomp.ts';
import type { System } from '../../lib/linux/system.ts';
import { workerFilter } from './policy.ts';

/** Address space beyond its memory, which the runtime reserves and does not use. */
const SPARE_ADDRESSES = 4 * 1024 ** 3;

/**
 * Applies the second half of the sandbox, in a worker that has loaded its libraries and not yet seen a picture: no
 * other program, no new process, and no more memory than given. Returns the parts that are unavailable.
 */
export function confine(system: System, memoryBytes: number): string[] {
  const missing: string[] = [];
  try {
    const used = memoryInUse(system);
    limit('data', used('VmData') + memoryBytes, system);
    limit('addressSpace', used('VmSize') + memoryBytes + SPARE_ADDRESSES, system);
  } catch {
    missing.push('memory');
  }
  try {
    install(workerFilter(process.pid), system);
  } catch {
    missing.push('programs');
  }
  return missing;
}
