import { AppError } from '../../errors.ts';
import type { Uploaded } from './uploaded.ts';

/** The result of one file of a form. */
export type Outcome = { uploaded: Uploaded } | { filename: string | null; fault: AppError };

/**
 * Returns if at least one file was stored.
 * @throws {AppError} the error of the first file, with details of each.
 */
export function demandOne(outcomes: readonly Outcome[]): void {
  const faults = outcomes.flatMap((outcome) => ('fault' in outcome ? [outcome.fault] : []));
  const [first] = faults;
  if (first === undefined || faults.length < outcomes.length) return;
  const details = faults.map(({ message }, index) => ({ field: `image[${index}]`, message }));
  const wait = first.retryAfterMs === undefined ? {} : { retryAfterMs: first.retryAfterMs };
  throw new AppError(first.code, first.message, { details, ...wait, cause: first.cause });
}
