import { run } from '../../test/support/run.ts';
import { CannotRun } from './channel.ts';

/** A processor by the name that archives have, and by that of Debian and of containers. */
export const PROCESSORS = {
  x64: { debian: 'amd64', linux: 'x86_64' },
  arm64: { debian: 'arm64', linux: 'aarch64' },
} as const;
export type Processor = keyof typeof PROCESSORS;

/** True for a processor that this machine has not: qemu runs its programs, where it is registered with the kernel. */
export const isEmulated = (cpu: Processor) => cpu !== process.arch;

/** How conversions are set up. qemu hands on neither Landlock nor filters of system calls, and takes 8 s to start a process for them. */
export const conversionsOn = (cpu: Processor) =>
  isEmulated(cpu) ? { IMAGE_SANDBOX: 'off', IMAGE_WORKERS: '1' } : { IMAGE_SANDBOX: 'require' };

/** How conversions are sandboxed there, in words. */
export const sandboxOn = (cpu: Processor) =>
  isEmulated(cpu) ? 'one process for conversions, without the sandbox' : 'conversions in the full sandbox';

/** How many seconds a start may take: an interpreter takes its time for half a million functions. */
export const patienceOn = (cpu: Processor) => (isEmulated(cpu) ? 300 : 60);

/** Asks the binary in `root` for its version: an emulator that cannot run Bun itself says nothing about picpool. */
export async function requireEmulation(root: string): Promise<void> {
  await run(['chroot', root, '/usr/local/bin/picpool', '--version']).catch((error: Error) => {
    if (/Bun has crashed|Exec format error/.test(error.message))
      throw new CannotRun('no qemu is registered in which Bun runs');
    throw error;
  });
}
