import type { Config, Environment } from '../config.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** What was found, and what to do about it. */
export interface Finding {
  /** `open`: a choice rather than a fault. */
  state: 'ok' | 'open' | 'warn' | 'fail';
  text: string;
  /** What the finding is about. Findings that differ only in this are shown as one. */
  subject?: string;
  advice?: string;
}

export const STATES: Record<Finding['state'], string> = {
  ok: 'ok  ',
  open: 'open',
  warn: 'warn',
  fail: 'FAIL',
};

/** Number of subjects of one finding that are named. */
const MOST_NAMED = 3;

/** Merges findings that differ only in their subject into one that names some and counts the rest. */
export function grouped(findings: readonly Finding[]): Finding[] {
  const alike = Map.groupBy(findings, ({ state, text, advice }) => JSON.stringify([state, text, advice]));
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    const subjects = group.flatMap(({ subject }) => (subject === undefined ? [] : [subject]));
    if (first === undefined || subjects.length === 0) return group;
    const more = subjects.length - MOST_NAMED;
    const names = subjects.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
    return [{ ...first, text: `${names}: ${first.text}` }];
  });
}

/** What the checks examine. */
export interface Patient {
  config: Config;
  env: Environment;
  runtime: Runtime;
}
