import { numberOf, required, type SystemCall } from './numbers.ts';
import { ENOSYS, EPERM, must, type System } from './system.ts';

/** What happens to a system call that a filter names; all others pass. */
export type Rule =
  | { refuse: number }
  /** Passes if the argument has one of the values (in its lower 32 bits), otherwise fails with EPERM. */
  | { onlyWith: { argument: number; values: readonly number[] } }
  /** Passes if the argument has the bit set, otherwise fails with EPERM. */
  | { onlyFlag: { argument: number; bit: number } };

export type Filter = readonly (readonly [SystemCall, Rule])[];

/** Classic BPF (linux/bpf_common.h) and what seccomp adds (linux/seccomp.h). */
const LOAD_WORD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_ABOVE = 0x35;
const JUMP_IF_SET = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const ERROR = 0x00050000;
const AT_NUMBER = 0;
const AT_ARCH = 4;
const AT_ARGUMENTS = 16;
const AUDIT_ARCH = { x64: 0xc000003e, arm64: 0xc00000b7 };
/** Numbers from here on belong to x32, a second entry to every call. */
const X32 = 0x40000000;

const SET_MODE_FILTER = 1;
const ON_ALL_THREADS = 1;
const SET_NO_NEW_PRIVS = 38;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

const refuse = (error: number): Instruction => [RETURN, 0, 0, ERROR | error];
const allow: Instruction = [RETURN, 0, 0, ALLOW];
/** On a little-endian machine the lower half of an argument comes first. */
const loadArgument = (index: number): Instruction => [LOAD_WORD, 0, 0, AT_ARGUMENTS + 8 * index];

/** Returns the program of a filter. Pure. */
export function assemble(filter: Filter, arch: System['arch']): Uint8Array {
  const program: Instruction[] = [
    [LOAD_WORD, 0, 0, AT_ARCH],
    [JUMP_IF_EQUAL, 1, 0, AUDIT_ARCH[arch]],
    [RETURN, 0, 0, KILL],
    [LOAD_WORD, 0, 0, AT_NUMBER],
    [JUMP_IF_ABOVE, 0, 1, X32],
    refuse(ENOSYS),
  ];
  for (const [name, rule] of filter) {
    const number = numberOf(name, arch);
    if (number === null) continue;
    const body = bodyOf(rule);
    program.push([JUMP_IF_EQUAL, 0, body.length, number], ...body);
  }
  program.push(allow);
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, ifTrue);
    bytes.setUint8(index * 8 + 3, ifFalse);
    bytes.setUint32(index * 8 + 4, value >>> 0, true);
  }
  return new Uint8Array(bytes.buffer);
}

function bodyOf(rule: Rule): Instruction[] {
  if ('refuse' in rule) return [refuse(rule.refuse)];
  if ('onlyFlag' in rule) {
    const { argument, bit } = rule.onlyFlag;
    return [loadArgument(argument), [JUMP_IF_SET, 0, 1, bit], allow, refuse(EPERM)];
  }
  const { argument, values } = rule.onlyWith;
  const jumps = values.map((value, index): Instruction => [JUMP_IF_EQUAL, values.length - index, 0, value]);
  return [loadArgument(argument), ...jumps, refuse(EPERM), allow];
}

/**
 * Applies the filter permanently to the whole process, all its threads and everything it starts. Sets `no_new_privs`.
 * @throws {SystemCallError} if the kernel, or an earlier filter, refuses.
 */
export function install(filter: Filter, system: System): void {
  const { arch, call, address } = system;
  must('prctl', call(required('prctl', arch), SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  const program = assemble(filter, arch);
  const header = new DataView(new ArrayBuffer(16));
  header.setUint16(0, program.length / 8, true);
  header.setBigUint64(8, address(program), true);
  const result = call(
    required('seccomp', arch),
    SET_MODE_FILTER,
    ON_ALL_THREADS,
    new Uint8Array(header.buffer),
  );
  // A positive number is the thread that could not be synchronised.
  must('seccomp', result > 0 ? -result : result);
}
