import { required } from './numbers.ts';
import { EACCES, EINVAL, ENOENT, ENOTDIR, must, openPath, type System } from './system.ts';

/** What a process may do below a path (linux/landlock.h). */
export interface Allowance {
  path: string;
  access: 'read' | 'run' | 'write';
}

const VERSION = 1;
/** The first version that can forbid truncating files. */
const WHOLE_VERSION = 3;
const PATH_BENEATH = 1;
const SET_NO_NEW_PRIVS = 38;

/** A flag of openat: only the name, because some of them may be used but not read. */
const ONLY_PATH = 0o10000000;

const EXECUTE = 1;
const WRITE_FILE = 2;
const READ_FILE = 4;
const READ_DIR = 8;
const TRUNCATE = 1 << 14;

/** Rights over files and folders in each version of the interface. */
const FILE_RIGHTS = [0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff];
/** Binding and connecting TCP sockets, since version 4. */
const TCP_RIGHTS = 3;
/** Abstract sockets and signals to processes outside, since version 6. */
const SCOPES = 3;

const RIGHTS: Record<Allowance['access'], number> = {
  read: READ_FILE | READ_DIR,
  run: READ_FILE | READ_DIR | EXECUTE,
  // No new files, because creating files could fill the disk.
  write: READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE,
};
/** Rights that apply to a file; the others apply to the contents of a folder. */
const OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE;

/** Returns the kernel's version of Landlock; 0 if it has none, or it is disabled. */
export function landlockVersion({ call, arch }: System): number {
  return Math.max(0, call(required('landlock_create_ruleset', arch), 0, 0, VERSION));
}

/**
 * Removes all rights over files except those named, and all TCP, from the calling thread and everything it starts or
 * becomes. Paths that do not exist or that it cannot reach are skipped.
 * @throws {SystemCallError} if the kernel refuses; an error after all is done if its version leaves files open to truncation.
 */
export function restrict(allowances: readonly Allowance[], system: System): void {
  const { call, arch } = system;
  const version = landlockVersion(system);
  const handled = FILE_RIGHTS[Math.min(version, FILE_RIGHTS.length - 1)] ?? 0;
  const attributes = new BigUint64Array([
    BigInt(handled),
    BigInt(version >= 4 ? TCP_RIGHTS : 0),
    BigInt(version >= 6 ? SCOPES : 0),
  ]);
  const known = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const ruleset = must(
    'landlock_create_ruleset',
    call(required('landlock_create_ruleset', arch), new Uint8Array(attributes.buffer), known, 0),
  );
  for (const { path, access } of allowances) allow(ruleset, path, RIGHTS[access] & handled, system);
  must('prctl', call(required('prctl', arch), SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  must('landlock_restrict_self', call(required('landlock_restrict_self', arch), ruleset, 0));
  call(required('close', arch), ruleset);
  if (version < WHOLE_VERSION) throw new Error(`Landlock ${version} cannot forbid truncating files`);
}

function allow(ruleset: number, path: string, rights: number, system: System): void {
  const { call, arch } = system;
  const descriptor = openPath(path, ONLY_PATH, system);
  if ([-ENOENT, -ENOTDIR, -EACCES].includes(descriptor)) return;
  must(`openat of ${path}`, descriptor);
  const add = (allowed: number) => {
    const rule = new DataView(new ArrayBuffer(12));
    rule.setBigUint64(0, BigInt(allowed), true);
    rule.setInt32(8, descriptor, true);
    return call(required('landlock_add_rule', arch), ruleset, PATH_BENEATH, new Uint8Array(rule.buffer), 0);
  };
  const added = add(rights);
  // The path is a file.
  must(`landlock_add_rule for ${path}`, added === -EINVAL ? add(rights & OF_FILES) : added);
  call(required('close', arch), descriptor);
}
