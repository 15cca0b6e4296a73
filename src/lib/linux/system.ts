/** What is passed to the kernel: a number, or the address of bytes. */
export type Argument = number | bigint | Uint8Array;

/** System calls of Linux, made from the calling thread. */
export interface System {
  readonly arch: 'x64' | 'arm64';
  /** Makes a system call; answers its result, or the negative number of the error. */
  call(number: number, ...args: Argument[]): number;
  /** Where the bytes lie, for as long as someone holds them. */
  address(bytes: Uint8Array): bigint;
}

/** Error numbers, the same on both machines. */
export const EPERM = 1;
export const ENOSYS = 38;

/** The kernel has refused what must not fail. */
export class SystemCallError extends Error {
  constructor(what: string, result: number) {
    super(`${what} failed with error ${-result} of the system`);
    this.name = 'SystemCallError';
  }
}

/** @throws {SystemCallError} if the result says so. */
export function must(what: string, result: number): number {
  if (result < 0) throw new SystemCallError(what, result);
  return result;
}

/** Text as C has it. */
export function cString(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}
