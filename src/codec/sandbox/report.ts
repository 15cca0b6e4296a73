import { landlockVersion } from '../../lib/linux/landlock.ts';
import { required } from '../../lib/linux/numbers.ts';
import type { System } from '../../lib/linux/system.ts';

/** The parts of the sandbox, and the mechanisms behind each. */
export const PARTS = {
  files: 'Landlock 3 or later: Linux 6.2',
  network: 'seccomp filters',
  programs: 'seccomp filters',
  limits: 'rlimits',
  memory: 'rlimits, and /proc',
};

/** Landlock can forbid truncating files since its third version. */
const NEEDED_VERSION = 3;
const GET_ACTION_AVAILABLE = 2;
const ERROR_ACTION = 0x00050000;

/** Returns the parts that this kernel does not support. Only asks, and changes nothing. */
export function lackingMeans(system: System | null): string[] {
  if (!system) return Object.keys(PARTS);
  const { call, arch } = system;
  const action = new Uint8Array(new Uint32Array([ERROR_ACTION]).buffer);
  const filters = call(required('seccomp', arch), GET_ACTION_AVAILABLE, 0, action) === 0;
  return [
    ...(landlockVersion(system) >= NEEDED_VERSION ? [] : ['files']),
    ...(filters ? [] : ['network', 'programs']),
  ];
}

/** Returns `full`, `none`, or `partial` with what is missing; `null` means that there is no sandbox. */
export function sandboxState(missing: readonly string[] | null): {
  state: 'full' | 'partial' | 'none';
  text: string;
} {
  if (missing === null || Object.keys(PARTS).every((part) => missing.includes(part))) {
    return { state: 'none', text: 'none' };
  }
  if (missing.length === 0) return { state: 'full', text: 'full' };
  return { state: 'partial', text: `partial (without: ${missing.join(', ')})` };
}
