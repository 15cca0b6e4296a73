import { AppError } from '../../errors.ts';
import type { PrivatePart } from '../codec/private-parts.ts';
import type { UploadWarning } from '../codec/warnings.ts';
import type { ImageRecord } from '../image.ts';

/** The result of an upload, for its uploader only. */
export interface Uploaded {
  image: ImageRecord;
  /** Known only to the uploader: the server stores its hash. */
  deleteToken: string;
  /** Private metadata that was removed. */
  removed: readonly PrivatePart[];
  /** What the conversion has lost, or what differs from the request. */
  warnings: readonly UploadWarning[];
  /** The album that it is in. */
  album?: string;
  /** True if nobody sees it before the administrator does. */
  inReview?: boolean;
}

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
