import type { CheckError } from '../proxy.ts';

/**
 * Why a connection failed: an error of the proxy, `aborted` if the caller no longer wants the answer, or
 * `exhausted` if this machine had no socket left.
 */
export type FaultCode = CheckError | 'aborted' | 'exhausted';

const EXHAUSTED = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'EADDRINUSE', 'ENOBUFS', 'ENOMEM']);

/**
 * Maps the error of a connection that was never established to a code. Bun reports a lack of sockets or of a
 * route as ECONNREFUSED, so `unreachable` may still be this machine's fault.
 */
export function connectFault(error: Error): FaultCode {
  return 'code' in error && EXHAUSTED.has(String(error.code)) ? 'exhausted' : 'unreachable';
}

/** Ends a check at any point of its conversation. The checker never throws it to callers. */
export class CheckFault extends Error {
  readonly code: FaultCode;

  constructor(code: FaultCode, message: string) {
    super(message);
    this.name = 'CheckFault';
    this.code = code;
  }
}
