import process from 'node:process';
import type { System } from '../../lib/linux/system.ts';

/** The parts of the sandbox, and the mechanisms behind each. */
export const PARTS = {
  files: 'Landlock 3 or later: Linux 6.2',
  network: 'seccomp filters',
  programs: 'seccomp filters',
  limits: 'rlimits',
  memory: 'rlimits, and /proc',
};

/** Returns what applies parts, and those that turned out to be unavailable; standard error says why. */
export function createParts(system: System) {
  const missing: string[] = [];
  function apply(part: keyof typeof PARTS, work: (system: System) => void): void {
    try {
      work(system);
    } catch (cause) {
      process.stderr.write(`${part}: ${cause instanceof Error ? cause.message : cause}\n`);
      missing.push(part);
    }
  }
  return { missing, apply };
}

/** Returns `full`, `none`, or `partial` with what is missing; `null` means that there is no sandbox. */
export function sandboxState(missing: readonly string[] | null | undefined): {
  state: 'full' | 'partial' | 'none';
  text: string;
} {
  if (!missing || Object.keys(PARTS).every((part) => missing.includes(part))) {
    return { state: 'none', text: 'none' };
  }
  if (missing.length === 0) return { state: 'full', text: 'full' };
  return { state: 'partial', text: `partial (without: ${missing.join(', ')})` };
}
