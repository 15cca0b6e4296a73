import { required } from './numbers.ts';

/** An argument for the kernel: a number, or the address of bytes. */
type Argument = number | bigint | Uint8Array;

/** System calls of Linux, made from the calling thread. */
export interface System {
  readonly arch: 'x64' | 'arm64';
  /** Makes a system call. Returns its result, or the negative error number. */
  call(number: number, ...args: Argument[]): number;
  /** Returns the address of the bytes, valid as long as they are referenced. */
  address(bytes: Uint8Array): bigint;
}

/** Error numbers, the same on both machines. */
export const EPERM = 1;
export const ENOENT = 2;
export const EACCES = 13;
export const ENOTDIR = 20;
export const EINVAL = 22;
export const ENOSYS = 38;

/** Flags of openat: relative to the working directory; closed when the program changes. */
const FROM_HERE = -100;
const CLOSE_ON_EXEC = 0o2000000;

/** Opens a file without the runtime: Deno shows `/sys` and `/proc` only to programs with all permissions. */
export function openPath(path: string, flags: number, { call, arch }: System): number {
  return call(required('openat', arch), FROM_HERE, cString(path), CLOSE_ON_EXEC | flags, 0);
}

/** Thrown if the kernel refuses a call that must not fail. */
class SystemCallError extends Error {
  constructor(what: string, result: number) {
    super(`${what} failed with error ${-result} of the system`);
    this.name = 'SystemCallError';
  }
}

/** @throws {SystemCallError} if the result is an error. */
export function must(what: string, result: number): number {
  if (result < 0) throw new SystemCallError(what, result);
  return result;
}

/** Returns text as a C string. */
export function cString(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}
