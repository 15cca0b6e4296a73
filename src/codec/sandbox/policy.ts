import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import type { Allowance } from '../../lib/linux/landlock.ts';
import type { Filter, Rule } from '../../lib/linux/seccomp.ts';
import { ENOSYS, EPERM } from '../../lib/linux/system.ts';
import type { Environment } from '../workers/protocol.ts';

/** Maximum size in bytes of one file that a worker writes. */
export const MAX_FILE_BYTES = 512 * 1024 * 1024;
/** Maximum number of open files of a worker, and of threads and processes of its user. */
export const MAX_FILES = 256;
export const MAX_PROCESSES = 4096;

const refused: Rule = { refuse: EPERM };
const NEW_THREAD = 0x10000;

const all = (names: readonly Filter[number][0][], rule: Rule = refused): Filter =>
  names.map((name) => [name, rule] as const);

/**
 * Applies to the launcher and everything that it becomes: no sockets, no access to other processes or to the machine,
 * nothing of the kernel except files and memory, and no file attributes, which Landlock does not control.
 */
export const LAUNCH_FILTER: Filter = [
  ...all(['socket', 'bind', 'connect', 'listen', 'accept', 'accept4']),
  // Runtimes use socket pairs internally. A datagram pair could send to any socket of the system.
  ['socketpair', { onlyWith: { argument: 1, values: [0x1, 0x801, 0x80001, 0x80801] } }],
  ...all(['ptrace', 'process_vm_readv', 'process_vm_writev', 'process_madvise', 'process_mrelease', 'kcmp']),
  ...all(['pidfd_open', 'pidfd_getfd', 'pidfd_send_signal', 'rt_sigqueueinfo', 'rt_tgsigqueueinfo']),
  ...all(['chmod', 'fchmod', 'fchmodat', 'fchmodat2', 'chown', 'fchown', 'lchown', 'fchownat']),
  ...all(['utime', 'utimes', 'futimesat', 'utimensat', 'setxattr', 'lsetxattr', 'fsetxattr', 'setxattrat']),
  ...all(['removexattr', 'lremovexattr', 'fremovexattr', 'removexattrat']),
  ...all(['mount', 'umount2', 'mount_setattr', 'move_mount', 'open_tree', 'fsopen', 'fsmount', 'fsconfig']),
  ...all(['fspick', 'pivot_root', 'chroot', 'unshare', 'setns']),
  ...all(['swapon', 'swapoff', 'quotactl', 'quotactl_fd']),
  ...all(['add_key', 'request_key', 'keyctl', 'bpf', 'perf_event_open', 'userfaultfd', 'fanotify_init']),
  ...all(['io_uring_setup', 'io_uring_enter', 'io_uring_register'], { refuse: ENOSYS }),
  ...all(['shmget', 'shmat', 'shmctl', 'semget', 'semctl', 'msgget', 'msgctl', 'mq_open', 'mq_unlink']),
  ...all(['open_by_handle_at', 'name_to_handle_at', 'vmsplice', 'migrate_pages', 'move_pages']),
  ...all(['init_module', 'finit_module', 'delete_module', 'kexec_load', 'kexec_file_load', 'reboot', 'acct']),
  ...all(['settimeofday', 'clock_settime', 'clock_adjtime', 'adjtimex', 'sethostname', 'setdomainname']),
  ...all(['syslog', 'vhangup', 'personality', 'ioprio_set', 'setuid', 'setgid', 'setgroups', 'capset']),
];

/** Applies to a worker that is ready, before its first picture: forbids what only its start needed. */
export function workerFilter(pid: number): Filter {
  const onlyItself = (argument: number, ...values: number[]): Rule => ({
    onlyWith: { argument, values: [pid, ...values] },
  });
  return [
    ...all(['execve', 'execveat', 'fork', 'vfork']),
    ['clone', { onlyFlag: { argument: 0, bit: NEW_THREAD } }],
    // Its flags are in memory, which no filter can read; the libraries fall back to `clone`.
    ['clone3', { refuse: ENOSYS }],
    ['kill', onlyItself(0)],
    ['tgkill', onlyItself(0)],
    ['tkill', refused],
    ['prlimit64', onlyItself(0, 0)],
    ['setpriority', onlyItself(1, 0)],
    ['sched_setaffinity', onlyItself(0, 0)],
    ['sched_setattr', onlyItself(0, 0)],
    ['sched_setparam', onlyItself(0, 0)],
    ['sched_setscheduler', onlyItself(0, 0)],
  ];
}

/** Where systems keep libraries, and what loaders and runtimes read. */
const SYSTEM: readonly Allowance[] = [
  ...['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/usr/local/lib', '/nix/store', '/gnu/store'].map(
    (path): Allowance => ({ path, access: 'run' }),
  ),
  ...['/etc/ld.so.cache', '/etc/ld-musl-x86_64.path', '/etc/ld-musl-aarch64.path', '/etc/localtime'].map(
    read,
  ),
  ...['/dev/urandom', '/dev/random', '/dev/zero', '/sys/fs/cgroup', '/sys/devices/system/cpu'].map(read),
  ...['/proc/meminfo', '/proc/cpuinfo', '/proc/stat', '/proc/sys/vm', '/proc/self'].map(read),
  { path: '/dev/null', access: 'write' },
];

/** The files of the project that a program needs to run from source. Neither `.env` nor data is among them. */
const PROJECT = ['src', 'node_modules', 'package.json', 'tsconfig.json', 'bunfig.toml', 'deno.json'];

/** Returns everything that a worker may open: its program, its libraries and its own folder. */
export function allowances(command: readonly string[], env: Environment, folder: string): Allowance[] {
  const [program = ''] = command;
  const script = command.length > 1 ? command.at(-1) : undefined;
  return [
    ...SYSTEM,
    { path: program, access: 'run' },
    ...(script ? [dirname(script), ...PROJECT.map((name) => join(rootOf(script), name))].map(read) : []),
    ...libraryFolders(env).map(read),
    read(folder),
    // Its input may be a hard link to a file that others read.
    { path: join(folder, 'made'), access: 'write' },
  ];
}

/** Returns the nearest parent folder that contains the project. */
function rootOf(path: string): string {
  const folder = dirname(path);
  return folder === path || existsSync(join(folder, 'package.json')) ? folder : rootOf(folder);
}

function read(path: string): Allowance {
  return { path, access: 'read' };
}

/**
 * Returns where the single-file program puts its libraries (see scripts/build/place.ts), and where Deno keeps
 * compiled modules.
 */
function libraryFolders(env: Environment): string[] {
  const cache = env.XDG_CACHE_HOME || (env.HOME && join(env.HOME, '.cache'));
  return [
    join(resolve(env.DATA_DIR || 'data'), 'native'),
    ...(cache ? [join(cache, 'picpool', 'native'), join(cache, 'deno')] : []),
    ...(env.DENO_DIR ? [env.DENO_DIR] : []),
    ...(env.LD_LIBRARY_PATH?.split(':').filter((path) => path.startsWith('/')) ?? []),
    join(env.TMPDIR || '/tmp', `picpool-${process.geteuid?.() ?? -1}`),
  ];
}
