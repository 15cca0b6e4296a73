import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import process from 'node:process';
import { numberOf, type SystemCall } from '../../../src/lib/linux/numbers.ts';
import { cString, type System } from '../../../src/lib/linux/system.ts';

/** What a worker that somebody else has taken over knows of the machine. */
export interface Target {
  server: number;
  data: string;
  database: string;
  otherJob: string;
  env: string;
  tcpPort: number;
  unixSocket: string;
  /** Its own paths, as its job names them. */
  input: string;
  output: string;
}

/** Throws, or resolves with anything but true, where it does not succeed. */
export type Attempt = (target: Target, system: System) => unknown | Promise<unknown>;

/** A system call by its name; throws where the kernel refuses it. */
function call({ call, arch }: System, name: SystemCall, ...args: (number | bigint | Uint8Array)[]): number {
  const number = numberOf(name, arch);
  if (number === null) throw new Error(`no ${name} here`);
  const result = call(number, ...args);
  if (result < 0) throw new Error(`${name}: error ${-result}`);
  return result;
}

function readable(path: string): boolean {
  return readFileSync(path).length > 0;
}

function connected(options: { port: number; host: string } | { path: string }): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(options as { port: number });
    socket.once('connect', () => resolve(true)).once('error', reject);
  });
}

/** Ends the copy at once: it is a copy of a whole runtime. */
function copyOfItself(system: System, name: 'fork' | 'vfork' | 'clone'): boolean {
  const SIGCHLD = 17;
  const pid = name === 'clone' ? call(system, name, SIGCHLD, 0, 0, 0, 0) : call(system, name);
  if (pid === 0) process.kill(process.pid, 'SIGKILL');
  return pid > 0;
}

/** What runs on until somebody stops it. */
export const ENDLESS: Record<string, Attempt> = {
  'outlive the deadline'() {
    for (;;) if (Date.now() < 0) return true;
  },
  'fill the memory'() {
    const kept: Buffer[] = [];
    for (;;) kept.push(Buffer.alloc(64 << 20, kept.length + 1));
  },
};

export const ATTEMPTS: Record<string, Attempt> = {
  'read /etc/passwd': () => readable('/etc/passwd'),
  'read /etc/passwd by way of /proc': () => readable('/proc/self/root/etc/passwd'),
  'read the settings': ({ env }) => readable(env),
  'read the database': ({ database }) => readable(database),
  'list the data': ({ data }) => readdirSync(data).length >= 0,
  'read the picture of another job': ({ otherJob }) => readable(otherJob),
  'read the environment of the server': ({ server }) => readable(`/proc/${server}/environ`),
  'read the memory of the server': ({ server }) => openSync(`/proc/${server}/mem`, 'r') > 0,
  'read the memory of the server by a call': ({ server }, system) => {
    const local = new BigUint64Array([system.address(new Uint8Array(8)), 8n]);
    const bytes = new Uint8Array(local.buffer);
    return call(system, 'process_vm_readv', server, bytes, 1, bytes, 1, 0) >= 0;
  },
  'list the files that the server has open': ({ server }) => readdirSync(`/proc/${server}/fd`).length > 0,
  'empty the database': ({ database }) => truncateSync(database) === undefined,
  'remove the database': ({ database }) => unlinkSync(database) === undefined,
  'open the database to everybody': ({ database }) => chmodSync(database, 0o777) === undefined,
  'close the data to its owner': ({ data }) => chmodSync(data, 0) === undefined,
  'age the database': ({ database }) => utimesSync(database, 1, 1) === undefined,
  'write into the data': ({ data }) => writeFileSync(`${data}/taken`, 'x') === undefined,
  'write into /tmp': () => writeFileSync(`/tmp/picpool-taken-${process.pid}`, 'x') === undefined,
  'write a file beside its result': ({ output }) => writeFileSync(`${output}.more`, 'x') === undefined,
  'make a folder': ({ output }) => mkdirSync(`${output}.folder`) === undefined,
  'change its input, which may be a link': ({ input }) => writeFileSync(input, 'x') === undefined,
  'make its result a symbolic link': ({ output }) =>
    symlinkSync('/etc/passwd', `${output}.link`) === undefined,
  'make a link to the database': ({ database, output }) => linkSync(database, `${output}.db`) === undefined,
  'move its result away': ({ data, output }) => renameSync(output, `${data}/moved`) === undefined,
  'connect by TCP': ({ tcpPort: port }) => connected({ port, host: '127.0.0.1' }),
  'listen by TCP': () =>
    new Promise((resolve, reject) => {
      const server = createServer().once('error', reject);
      server.listen(0, '127.0.0.1', () => server.close(() => resolve(true)));
    }),
  'make a UDP socket': (_, system) => call(system, 'socket', 2, 2, 0) >= 0,
  'make an IPv6 socket': (_, system) => call(system, 'socket', 10, 1, 0) >= 0,
  'make a raw socket': (_, system) => call(system, 'socket', 17, 3, 0) >= 0,
  'make a netlink socket': (_, system) => call(system, 'socket', 16, 3, 0) >= 0,
  'connect to a unix socket': ({ unixSocket: path }) => connected({ path }),
  'make a pair of datagram sockets, which could send anywhere': (_, system) =>
    call(system, 'socketpair', 1, 2, 0, new Uint8Array(8)) === 0,
  'run a program': () => spawnSync('/bin/true').status === 0,
  'become a program': (_, system) => {
    const argv = new BigUint64Array([system.address(cString('/bin/true')), 0n]);
    return call(system, 'execve', cString('/bin/true'), new Uint8Array(argv.buffer), 0) === 0;
  },
  'become an open program': (_, system) => call(system, 'execveat', 0, cString(''), 0, 0, 0x1000) === 0,
  fork: (_, system) => copyOfItself(system, 'fork'),
  vfork: (_, system) => copyOfItself(system, 'vfork'),
  'leave a child': (_, system) => copyOfItself(system, 'clone'),
  'clone by the newer call': (_, system) => call(system, 'clone3', new Uint8Array(88), 88) > 0,
  'trace the server': ({ server }, system) => call(system, 'ptrace', 16, server, 0, 0) === 0,
  'signal the server': ({ server }) => process.kill(server, 0),
  'signal everybody': (_, system) => call(system, 'kill', -1, 0) === 0,
  'signal a thread of the server': ({ server }, system) => call(system, 'tgkill', server, server, 0) === 0,
  'hold the server by a descriptor': ({ server }, system) => call(system, 'pidfd_open', server, 0) >= 0,
  'slow the server down': ({ server }, system) => call(system, 'setpriority', 0, server, 19) === 0,
  'limit the server': ({ server }, system) =>
    call(system, 'prlimit64', server, 7, 0, new Uint8Array(16)) === 0,
  'move the server to another core': ({ server }, system) =>
    call(system, 'sched_setaffinity', server, 8, new Uint8Array([1, 0, 0, 0, 0, 0, 0, 0])) === 0,
  'make a namespace of its own': (_, system) => call(system, 'unshare', 0x10000000) === 0,
  mount: (_, system) => call(system, 'mount', cString('none'), cString('/mnt'), cString('tmpfs'), 0, 0) === 0,
  'change the root': (_, system) => call(system, 'chroot', cString('/tmp')) === 0,
  'use the keys of the user': (_, system) => call(system, 'keyctl', 0, -3, 1) > 0,
  'load a program into the kernel': (_, system) => call(system, 'bpf', 0, new Uint8Array(72), 72) >= 0,
  'watch the machine': (_, system) => call(system, 'perf_event_open', new Uint8Array(128), 0, -1, -1, 0) >= 0,
  'pass by the filters by a ring': (_, system) => call(system, 'io_uring_setup', 4, new Uint8Array(120)) >= 0,
  'share memory with others': (_, system) => call(system, 'shmget', 0, 4096, 0o1777) >= 0,
  'take more memory than its limit': () => Buffer.alloc(2 ** 30).length > 0,
  'become root': (_, system) => call(system, 'setuid', 0) === 0,
  'fill the disk': ({ output }) => {
    const file = openSync(output, 'w');
    const chunk = Buffer.alloc(16 << 20);
    let written = 0;
    try {
      while (written < 3 * 2 ** 30) written += writeSync(file, chunk);
    } finally {
      closeSync(file);
      truncateSync(output);
    }
    return true;
  },
};

/** What a worker must still be able to do, so that the attempts fail for the right reason. */
export const NEEDED: Record<string, Attempt> = {
  'read its input': ({ input }) => readable(input),
  'write its result': ({ output }) => writeFileSync(output, 'x') === undefined,
  'start a thread': () =>
    new Promise((resolve, reject) => {
      const worker = new Worker(`data:text/javascript,postMessage(1)`, { type: 'module' });
      worker.onmessage = () => resolve(true);
      worker.onerror = reject;
    }),
  'read random numbers': () => readSync(openSync('/dev/urandom', 'r'), Buffer.alloc(8)) === 8,
  'signal itself': () => process.kill(process.pid, 0),
};
