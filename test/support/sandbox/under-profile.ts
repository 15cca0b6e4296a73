/** Runs a command under a profile, as a container's or a unit's, that refuses system calls: `bun under-profile.ts CALL,CALL COMMAND...`. */
import process from 'node:process';
import type { SystemCall } from '../../../src/lib/linux/numbers.ts';
import { become } from '../../../src/lib/linux/process.ts';
import { install } from '../../../src/lib/linux/seccomp.ts';
import { EPERM } from '../../../src/lib/linux/system.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';

const [refused = '', ...command] = process.argv.slice(2);
const system = await bunRuntime.system();
if (!system) throw new Error('This needs Linux.');
install(
  refused.split(',').map((name) => [name as SystemCall, { refuse: EPERM }] as const),
  system,
);
become(command, process.env, system);
