import { describe, expect, test } from 'bun:test';
import { LAUNCH_FILTER, workerFilter } from '../../src/codec/sandbox/policy.ts';
import { sandboxState } from '../../src/codec/sandbox/report.ts';
import { restrict } from '../../src/lib/linux/landlock.ts';
import { numberOf } from '../../src/lib/linux/numbers.ts';
import { assemble, type Filter } from '../../src/lib/linux/seccomp.ts';
import type { System } from '../../src/lib/linux/system.ts';

const ARCH = { x64: 0xc000003e, arm64: 0xc00000b7 };
const ALLOW = 0x7fff0000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const KILL = 0x80000000;

/** Runs a program of classic BPF as the kernel does, on what it is told of a system call. */
function decide(program: Uint8Array, nr: number, arch: number, args: readonly number[] = []): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, nr, true);
  data.setUint32(4, arch, true);
  args.forEach((arg, index) => {
    data.setUint32(16 + 8 * index, arg >>> 0, true);
  });
  const code = new DataView(program.buffer);
  let accumulator = 0;
  for (let at = 0; at < program.length; at += 8) {
    const value = code.getUint32(at + 4, true);
    const jump = (taken: boolean) => 8 * code.getUint8(at + (taken ? 2 : 3));
    const operation = code.getUint16(at, true);
    if (operation === 0x20) accumulator = data.getUint32(value, true);
    else if (operation === 0x15) at += jump(accumulator === value);
    else if (operation === 0x35) at += jump(accumulator >= value);
    else if (operation === 0x45) at += jump((accumulator & value) !== 0);
    else return value;
  }
  throw new Error('the program does not end');
}

describe.each(['x64', 'arm64'] as const)('the filters on %s', (arch) => {
  const ask = (filter: Filter, name: Filter[number][0], ...args: number[]) =>
    decide(assemble(filter, arch), numberOf(name, arch) ?? -1, ARCH[arch], args);
  const worker = workerFilter(1234);

  test('refuse the listed calls and allow the others', () => {
    for (const name of ['socket', 'ptrace', 'mount', 'keyctl', 'bpf', 'fchmodat'] as const) {
      expect([name, ask(LAUNCH_FILTER, name)]).toEqual([name, EPERM]);
    }
    expect(ask(LAUNCH_FILTER, 'io_uring_setup')).toBe(ENOSYS);
    expect(ask(LAUNCH_FILTER, 'execve')).toBe(ALLOW);
    expect(ask(worker, 'execve')).toBe(EPERM);
    expect(ask(worker, 'getpid')).toBe(ALLOW);
  });

  test('let a worker start threads but no processes', () => {
    expect(ask(worker, 'clone', 0x3d0f00)).toBe(ALLOW);
    expect(ask(worker, 'clone', 17)).toBe(EPERM);
    expect(ask(worker, 'clone3')).toBe(ENOSYS);
  });

  test('let a worker signal and limit only itself', () => {
    expect(ask(worker, 'kill', 1234)).toBe(ALLOW);
    expect([ask(worker, 'kill', 1), ask(worker, 'kill', -1), ask(worker, 'kill', 0)]).toEqual([
      EPERM,
      EPERM,
      EPERM,
    ]);
    expect([ask(worker, 'prlimit64', 0), ask(worker, 'prlimit64', 1234)]).toEqual([ALLOW, ALLOW]);
    expect(ask(worker, 'prlimit64', 99)).toBe(EPERM);
  });

  test('allow pairs of stream sockets, but not of datagram sockets', () => {
    expect(ask(LAUNCH_FILTER, 'socketpair', 1, 0x80801)).toBe(ALLOW);
    expect(ask(LAUNCH_FILTER, 'socketpair', 1, 2)).toBe(EPERM);
  });

  test('kill a process that uses the system calls of another architecture', () => {
    expect(decide(assemble(worker, arch), 1, 0x40000003)).toBe(KILL);
    expect(decide(assemble(worker, arch), 0x40000000 + 59, ARCH[arch])).toBe(ENOSYS);
  });
});

test('a version of Landlock that lets files be truncated restricts, but does not count as the whole part', () => {
  const called: number[] = [];
  const kernel = (version: number): System => ({
    arch: 'x64',
    call(number, first) {
      called.push(number);
      return number === 444 && first === 0 ? version : 0;
    },
    address: () => 0n,
  });
  expect(() => restrict([], kernel(2))).toThrow('Landlock 2');
  expect(called).toContain(446);
  restrict([], kernel(3));
});

test('Landlock skips a folder in which this user may not look, such as the cache below the home of another one', () => {
  const called: number[] = [];
  const call = (number: number, first: unknown) => {
    called.push(number);
    return number === 257 ? -13 : number === 444 && first === 0 ? 3 : 0;
  };
  restrict([{ path: '/root/.cache', access: 'read' }], { arch: 'x64', call, address: () => 0n });
  expect([called.includes(445), called.includes(446)]).toEqual([false, true]);
});

describe('the state of the sandbox', () => {
  test.each([
    [[], 'full'],
    [['files'], 'partial (without: files)'],
    [['files', 'network', 'programs', 'limits', 'memory'], 'none'],
    [null, 'none'],
  ])('without %p is %s', (missing, text) => {
    expect(sandboxState(missing).text).toBe(text);
  });
});
