import { randomBytes } from 'node:crypto';
import { type Checker, type CheckerOptions, createChecker } from '../../../src/proxy/check/checker.ts';

/** A checker for proxies and judges on this machine; slow enough that a busy machine does not matter. */
export function localChecker(options: Partial<CheckerOptions> & Pick<CheckerOptions, 'judges'>): Checker {
  return createChecker({
    timeoutMs: 30_000,
    allowPrivate: true,
    questionGapMs: 20,
    now: Date.now,
    randomToken: () => randomBytes(16).toString('hex'),
    log: () => {},
    ...options,
  });
}
