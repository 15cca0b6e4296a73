/**
 * Runs a command under a profile, as a container's or a unit's, that refuses system calls: `bun under-profile.ts CALL,CALL
 * COMMAND...`. Of `prlimit64`, only the limits of memory are refused, because Bun cannot start without the others.
 */
import process from 'node:process';
import type { SystemCall } from '../../../src/lib/linux/numbers.ts';
import { become } from '../../../src/lib/linux/process.ts';
import { install } from '../../../src/lib/linux/seccomp.ts';
import { EPERM } from '../../../src/lib/linux/system.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';

const [refused = '', ...command] = process.argv.slice(2);
const system = await bunRuntime.system();
if (!system) throw new Error('This needs Linux.');
/** All resources but `data` and `addressSpace`. */
const others = { argument: 1, values: [0, 1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15] };
install(
  refused
    .split(',')
    .map(
      (name) =>
        [name as SystemCall, name === 'prlimit64' ? { onlyWith: others } : { refuse: EPERM }] as const,
    ),
  system,
);
become(command, process.env, system);
