/**
 * Prints the filter of system calls of `examples/picpool.service` as a seccomp profile of a container, with its groups as the
 * systemd of this machine knows them: an older one than that of the examples' author knows fewer.
 */

import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const unit = readFileSync(new URL('../../examples/picpool.service', import.meta.url), 'utf8');
const [, wanted] = /^SystemCallFilter=(.*)$/m.exec(unit) ?? [];
assert(wanted, 'The unit has no filter of system calls.');

const ALL = groups();
const calls = new Set(wanted.split(' ').flatMap(expand));
// systemd adds this group to each list of what is allowed.
for (const call of expand('@default')) calls.add(call);

console.log(
  JSON.stringify({
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: 1,
    syscalls: [{ names: [...calls], action: 'SCMP_ACT_ALLOW' }],
  }),
);

function expand(name: string): string[] {
  return name.startsWith('@') ? (ALL.get(name) ?? []).flatMap(expand) : [name];
}

/** As `systemd-analyze` lists them: the name of a group, then its members, indented. */
function groups(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let members: string[] = [];
  const listed = execFileSync('systemd-analyze', ['syscall-filter'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for (const line of listed.split('\n')) {
    if (line.startsWith('@')) {
      members = [];
      found.set(line.trim(), members);
    } else if (/^ +[@\w-]+$/.test(line)) members.push(line.trim());
  }
  return found;
}
