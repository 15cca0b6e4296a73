import { access, constants, readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import { AppError, inEnglish } from '../errors.ts';

/** An account, as in /etc/passwd and /etc/group. */
interface Account {
  name: string;
  uid: number;
  gid: number;
  /** IDs of all groups, including its own. */
  groups: number[];
}

/** Finds an account by name or number; `null` if there is none. Pure. */
export function findAccount(wanted: string, passwd: string, group: string): Account | null {
  const lines = passwd.split('\n').map((line) => line.split(':'));
  const found = lines.find(([name, , uid]) => name === wanted || uid === wanted);
  const [name = '', , uid, gid] = found ?? [];
  if (uid === undefined || gid === undefined) return null;
  const others = group
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([, , , members = '']) => members.split(',').includes(name))
    .map(([, , id]) => Number(id));
  return { name, uid: Number(uid), gid: Number(gid), groups: [...new Set([Number(gid), ...others])] };
}

/**
 * Becomes another user permanently, before anything is opened. Does nothing if the process already is that user.
 * Rejects with `unavailable` if that fails, or could be reversed.
 */
export async function runAs(wanted: string): Promise<void> {
  const [passwd, group] = await Promise.all([
    readFile('/etc/passwd', 'utf8'),
    readFile('/etc/group', 'utf8'),
  ]);
  const account = findAccount(wanted, passwd, group);
  if (!account) throw unable(`there is no user "${wanted}" in /etc/passwd`);
  const { uid, gid, groups } = account;
  if (uid === 0) throw unable('it names root');
  if (process.geteuid?.() === uid) return;
  if (process.geteuid?.() !== 0) throw unable('only root can become another user');
  // Deno has no such call, but its service manager can do it (User= of systemd, setpriv).
  if (!process.setgroups || !process.setgid || !process.setuid) {
    throw unable('this runtime cannot leave the groups of root; start it as that user');
  }
  process.setgroups(groups);
  process.setgid(gid);
  process.setuid(uid);
  if (
    process.getuid?.() !== uid ||
    process.geteuid?.() !== uid ||
    process.getegid?.() !== gid ||
    mayReturn()
  ) {
    throw unable('the change of user is not permanent');
  }
}

/** Rejects with `unavailable`, and the command that fixes it, if the user cannot write to the folder. */
export async function checkOwner(folder: string, user: string): Promise<void> {
  const path = resolve(folder);
  const { R_OK, W_OK, X_OK } = constants;
  const standing = await access(path).then(
    () => path,
    ({ code }: NodeJS.ErrnoException) => (code === 'ENOENT' ? dirname(path) : path),
  );
  const isOpen = await access(standing, R_OK | W_OK | X_OK).then(
    () => true,
    () => false,
  );
  if (isOpen) return;
  const command = standing === path ? `chown -R ${user}: ${path}` : `install -d -m 700 -o ${user} ${path}`;
  throw new AppError('unavailable', inEnglish(`The user ${user} cannot write ${path}. As root: ${command}`));
}

function mayReturn(): boolean {
  try {
    process.setuid?.(0);
    return true;
  } catch {
    return false;
  }
}

function unable(why: string): AppError {
  return new AppError('unavailable', inEnglish(`RUN_AS cannot be applied: ${why}.`));
}
