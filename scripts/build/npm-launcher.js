#!/usr/bin/env node
// Runs the binary that npm has installed beside this package, with the same arguments, streams, signals and exit
// code.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import os from 'node:os';
import process from 'node:process';
import tty from 'node:tty';

const require = createRequire(import.meta.url);

/** Detects the C library of this Linux: package managers without support for `libc` install both packages. */
function isMusl() {
  if (process.platform !== 'linux' || !process.report) return false;
  // Otherwise the report would resolve the addresses of all open connections.
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
}

function binaryPath(name) {
  try {
    return require.resolve(`${name}/bin/picpool`);
  } catch {
    process.stderr.write(
      `picpool: the package ${name} is not installed. Either there is no binary for this machine, or the installation left out optional dependencies (--omit=optional, --no-optional): install without that.\n`,
    );
    process.exit(1);
  }
}

const name = `@picpool/${process.platform}${isMusl() ? 'musl' : ''}-${process.arch}`;
const child = spawn(binaryPath(name), process.argv.slice(2), { stdio: 'inherit' });
// A terminal sends Ctrl-C to both processes, and the binary must not get it twice. A process manager sends it to this one alone.
const isInTerminal = [0, 1, 2].some((stream) => tty.isatty(stream));
process.on('SIGINT', () => isInTerminal || child.kill('SIGINT'));
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'])
  process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  process.stderr.write(`picpool: the binary cannot be run (${error.message}).\n`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal === null ? code : 128 + os.constants.signals[signal]));
