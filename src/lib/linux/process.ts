import { required } from './numbers.ts';
import { cString, must, openPath, type System } from './system.ts';

const SET_DUMPABLE = 4;
const GET_DUMPABLE = 3;
const UNLIMITED = 2n ** 64n - 1n;

/** Resources that can be limited (asm-generic/resource.h). */
const RESOURCES = { fileSize: 1, data: 2, core: 4, processes: 6, files: 7, addressSpace: 9 };
type Resource = keyof typeof RESOURCES;

/** Lowers a limit of this process permanently. A lower limit stays. */
export function limit(resource: Resource, most: number, { call, arch }: System): void {
  const number = required('prlimit64', arch);
  const old = new BigUint64Array(2);
  must('prlimit64', call(number, 0, RESOURCES[resource], 0, new Uint8Array(old.buffer)));
  const [, hard = UNLIMITED] = old;
  const value = BigInt(Math.ceil(most)) < hard ? BigInt(Math.ceil(most)) : hard;
  const wanted = new Uint8Array(new BigUint64Array([value, value]).buffer);
  must(`prlimit64 of ${resource}`, call(number, 0, RESOURCES[resource], wanted, 0));
}

/** Returns how many bytes this process has in such a field of `/proc/self/status`. */
export function memoryInUse(system: System): (field: 'VmData' | 'VmSize') => number {
  const { call, arch } = system;
  const file = must('openat of status', openPath('/proc/self/status', 0, system));
  // The groups come before the memory, and may be 65,536.
  const bytes = new Uint8Array(2 ** 20);
  must('read of status', call(required('read', arch), file, bytes, bytes.length));
  call(required('close', arch), file);
  const status = new TextDecoder().decode(bytes);
  return (field) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024;
}

/** Keeps other processes of the same user from reading this one's memory and environment. */
export function forbidDumps({ call, arch }: System): boolean {
  const prctl = required('prctl', arch);
  return call(prctl, SET_DUMPABLE, 0, 0, 0, 0) === 0 && call(prctl, GET_DUMPABLE, 0, 0, 0, 0) === 0;
}

/** Makes this process the leader of a new session and group. Does nothing if it already is. */
export function startSession({ call, arch }: System): void {
  call(required('setsid', arch));
}

/**
 * Becomes another program, which keeps the process ID, the three standard streams and all restrictions.
 * @throws {SystemCallError} and never returns.
 */
export function become(
  command: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  system: System,
): never {
  const { call, arch, address } = system;
  // Everything above the standard streams is closed when the program changes.
  call(required('close_range', arch), 3, 2 ** 32 - 1, 4);
  const texts: Uint8Array[] = [];
  const pointers = (items: readonly string[]) => {
    const strings = items.map(cString);
    texts.push(...strings);
    return new Uint8Array(new BigUint64Array([...strings.map(address), 0n]).buffer);
  };
  const variables = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${value}`,
  );
  const path = cString(command[0] ?? '');
  const [argv, envp] = [pointers(command), pointers(variables)];
  must(`execve of ${command[0]}`, call(required('execve', arch), path, argv, envp));
  // Never reached; what was passed to the kernel must stay alive until then.
  throw new Error(`execve returned, with ${texts.length} arguments`);
}
