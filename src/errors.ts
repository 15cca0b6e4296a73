/** Every error code that callers can receive. `http/errors.ts` maps each to a status. */
export type ErrorCode =
  | 'invalid_parameter'
  | 'invalid_body'
  | 'unauthorized'
  | 'password_required'
  | 'wrong_password'
  | 'forbidden'
  | 'not_found'
  | 'gone'
  | 'method_not_allowed'
  | 'conflict'
  | 'too_large'
  | 'not_an_image'
  | 'undecodable_image'
  | 'image_limit'
  | 'conversion_timeout'
  | 'range_not_satisfiable'
  | 'rate_limited'
  | 'busy'
  | 'unavailable'
  | 'storage_full'
  | 'internal';

/** One fault in the input: `field` as the caller wrote it, `message` with what was wrong and what would be right. */
export interface ErrorDetail {
  field: string;
  message: string;
}

interface AppErrorOptions {
  details?: ErrorDetail[];
  /** How long the caller should wait before trying again; becomes `Retry-After`. */
  retryAfterMs?: number;
  cause?: unknown;
}

/**
 * An error whose message may be shown to the caller. Anything else that is thrown is logged and shown as `internal`,
 * so that no internals leak.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = options.details;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Returns an `invalid_parameter` error about a single field. */
export function invalidParameter(field: string, message: string): AppError {
  return new AppError('invalid_parameter', message, { details: [{ field, message }] });
}

/** One faulty variable. */
export interface ConfigFault {
  variable: string;
  message: string;
}

/** All faults of the environment, one on each line. */
export class ConfigError extends Error {
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    super(faults.map(({ variable, message }) => `${variable} ${message}`).join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}
