import type { CheckError } from '../proxy.ts';

/**
 * Why a connection was given up. Besides the errors of a proxy: `aborted` when its owner no longer wants the answer,
 * `exhausted` when this machine had no socket to spare.
 */
export type FaultCode = CheckError | 'aborted' | 'exhausted';

const EXHAUSTED = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'EADDRINUSE', 'ENOBUFS', 'ENOMEM']);

/**
 * Sorts the error of a connection that never stood. Bun reports a lack of sockets or of a route as ECONNREFUSED,
 * so `unreachable` may still be this machine's fault.
 */
export function connectFault(error: Error): FaultCode {
  return 'code' in error && EXHAUSTED.has(String(error.code)) ? 'exhausted' : 'unreachable';
}

/** Ends a check at any point of its conversation. Never leaves the checker. */
export class CheckFault extends Error {
  readonly code: FaultCode;

  constructor(code: FaultCode, message: string) {
    super(message);
    this.name = 'CheckFault';
    this.code = code;
  }
}
