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

/** Rejects when the work takes longer; what it does then is its own affair. */
export async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
