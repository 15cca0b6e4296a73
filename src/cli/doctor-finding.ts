import type { Config, Environment } from '../config.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** What was seen, and what to do about it. */
export interface Finding {
  state: 'ok' | 'warn' | 'fail';
  text: string;
  advice?: string;
}

export const STATES: Record<Finding['state'], string> = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' };

/** What the checks look at. */
export interface Patient {
  config: Config;
  env: Environment;
  runtime: Runtime;
}
