import { AppError } from '../errors.ts';

type SafeFetchErrorKind =
  | 'bad_url'
  | 'forbidden_address'
  | 'redirects'
  | 'unreachable'
  | 'timeout'
  | 'too_large'
  | 'broken';

/** Why a request failed. The message is a plain phrase such as `timed out after 30 s`. */
export class SafeFetchError extends Error {
  readonly kind: SafeFetchErrorKind;

  constructor(kind: SafeFetchErrorKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SafeFetchError';
    this.kind = kind;
  }
}

/**
 * Starts the time limit of one request, combined with the caller's own signal. Call `clear` when the request has ended in
 * any way.
 */
export function startDeadline(timeoutMs: number, caller: AbortSignal | undefined) {
  const controller = new AbortController();
  const clear = () => {
    clearTimeout(timer);
    caller?.removeEventListener('abort', abort);
  };
  const abort = () => {
    clear();
    controller.abort();
  };
  const timer = setTimeout(abort, timeoutMs);
  caller?.addEventListener('abort', abort, { once: true });
  return { signal: controller.signal, caller, timeoutMs, clear };
}

export type Deadline = ReturnType<typeof startDeadline>;

/** Returns our error for one of the runtime. */
export function explain(
  error: unknown,
  deadline: Deadline,
  kind: SafeFetchErrorKind,
  message: string,
): unknown {
  if (deadline.caller?.aborted) return deadline.caller.reason;
  if (error instanceof SafeFetchError || error instanceof AppError) return error;
  if (deadline.signal.aborted) {
    return new SafeFetchError('timeout', `timed out after ${deadline.timeoutMs / 1000} s`);
  }
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return new SafeFetchError(kind, message + code, error);
}
